//! Makes of the list of commands a type for each, the enum of all, and their table. It knows no command by name.

/// Takes the commands of one area, each with its docs, its name in requests, its type with its arguments, the type of its
/// reply, and the authority that it needs with the reason. Makes a type of each, and a macro with the name of the area, by
/// which [`join_commands`] adds them to the list of all.
macro_rules! commands {
    ($list:ident { $($commands:tt)* }) => {
        commands! { @with ($) $list $($commands)* }
    };
    (@with ($d:tt) $list:ident $($(#[$doc:meta])* $wire:literal $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty),* $(,)? } -> $reply:ty, $needs:ident: $reason:literal;)*) => {
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

        macro_rules! $list {
            ({ $d($d before:tt)* } $d($d rest:ident)*) => {
                join_commands! {
                    { $d($d before)* $($(#[$doc])* $wire $name $needs $reason;)* }
                    $d($d rest)*
                }
            };
        }
        pub(super) use $list;
    };
}

/// Takes the areas, and makes of their commands the enum of all and their table.
macro_rules! join_commands {
    ({ $($before:tt)* } $list:ident $($rest:ident)*) => {
        $list! { { $($before)* } $($rest)* }
    };
    ({ $($(#[$doc:meta])* $wire:literal $name:ident $needs:ident $reason:literal;)* }) => {
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
                vec![$(($wire, <$name as TS>::name(config), <<$name as TypedCommand>::Reply as TS>::name(config))),*]
            }

            /// Exports the types of all commands and replies with everything that they use.
            pub fn export_types(config: &ts_rs::Config) -> Result<(), ts_rs::ExportError> {
                $(<$name as TS>::export_all(config)?; <<$name as TypedCommand>::Reply as ExportReply>::export_reply(config)?;)*
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

pub(super) use {commands, join_commands};
