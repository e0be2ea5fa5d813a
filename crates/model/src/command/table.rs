//! Makes of the list of commands a type for each, the enum of all, and their table. It knows no command by name.

/// Takes for each command its docs, its name in requests, its type with its arguments, the type of its reply, and the
/// authority that it needs with the reason.
macro_rules! commands {
    ($($(#[$doc:meta])* $wire:literal $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty),* $(,)? } -> $reply:ty, $needs:ident: $reason:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Serialize, Deserialize, TS)]
            #[serde(rename_all = "camelCase", deny_unknown_fields)]
            pub struct $name { $($(#[$fdoc])* pub $field: $type),* }

            impl TypedCommand for $name {
                type Reply = $reply;
                const NAME: &'static str = $wire;
                const NEEDS: Authority = Authority::$needs;
            }
        )*

        #[derive(Clone, Debug)]
        pub enum Command {
            $($(#[$doc])* $name($name)),*
        }

        /// Every command with the authority that it needs and the reason.
        pub const COMMANDS: &[CommandRule] =
            &[$(CommandRule { name: $wire, needs: Authority::$needs, reason: $reason }),*];

        impl Command {
            /// Name, argument type and reply type of every command, for the TypeScript map.
            #[must_use]
            pub fn signatures(config: &ts_rs::Config) -> Vec<(&'static str, String, String)> {
                vec![$(($wire, <$name as TS>::name(config), <$reply as TS>::name(config))),*]
            }

            /// Exports the types of all commands and replies with everything that they use.
            pub fn export_types(config: &ts_rs::Config) -> Result<(), ts_rs::ExportError> {
                $(<$name as TS>::export_all(config)?; <$reply as ExportReply>::export_reply(config)?;)*
                Ok(())
            }

            /// Parses a command from its name and its arguments.
            ///
            /// # Errors
            /// [`ErrorCode::BadRequest`] for an unknown name or invalid arguments.
            pub fn parse(name: &str, args: &RawValue) -> Result<Self, UserError> {
                let bad = |e: serde_json::Error| {
                    UserError::new(ErrorCode::BadRequest, crate::message!("error.app.badArguments", name = name))
                        .with_cause(format!("{e}."))
                };
                match name {
                    $($wire => serde_json::from_str(args.get()).map(Self::$name).map_err(bad),)*
                    other => Err(UserError::new(
                        ErrorCode::BadRequest,
                        crate::message!("error.app.unknownCommand", name = other),
                    )),
                }
            }

            /// Name in requests.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => $wire),* }
            }

            /// The authority that it needs, and why.
            #[must_use]
            pub fn rule(&self) -> CommandRule {
                match self {
                    $(Self::$name(_) => {
                        CommandRule { name: $wire, needs: Authority::$needs, reason: $reason }
                    }),*
                }
            }
        }
    };
}

pub(super) use commands;
