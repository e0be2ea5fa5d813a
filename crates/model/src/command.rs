//! The list of all commands: windows, command line and tests drive the core through them and nothing
//! else. Routing, types and TypeScript are generated from this list, which is in one file for each area.

mod activity_commands;
mod authority;
mod client_commands;
mod configuration_request;
mod import_request;
mod model_commands;
mod permission_commands;
mod server_commands;
mod setting_commands;
mod table;
mod typescript;
mod values;

use serde_json::value::RawValue;
use ts_rs::TS;

use self::activity_commands::activity_commands;
pub use self::activity_commands::*;
pub use self::authority::{Authority, CommandRule, TypedCommand};
use self::client_commands::client_commands;
pub use self::client_commands::*;
pub use self::configuration_request::{ConfigurationChoice, ConfigurationOrigin};
pub use self::import_request::{ImportAction, ImportChoice, ImportInputValue, ImportOrigin, NameConflict};
use self::model_commands::model_commands;
pub use self::model_commands::*;
use self::permission_commands::permission_commands;
pub use self::permission_commands::*;
use self::server_commands::server_commands;
pub use self::server_commands::*;
use self::setting_commands::setting_commands;
pub use self::setting_commands::*;
use self::table::join_commands;
use self::typescript::ExportReply;
pub use self::values::{
    BridgeBinding, CallExportFormat, CallReply, ExportFormat, ExportedCalls, ExportedConversation,
    ExportedText, FieldSecret, MintedClient, PracticeResult, Removal, RequestSecret, RotatedKey,
    StatusReport,
};
use crate::error::{ErrorCode, UserError};

join_commands! { {} server_commands client_commands permission_commands activity_commands model_commands setting_commands }
