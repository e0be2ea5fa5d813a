//! `operator-key …`: rotates the operator key.

use gatehouse_model::command::OperatorKeyRotate;
use gatehouse_model::{Secret, message};

use crate::cli::OperatorKeyVerb;
use crate::error::CliError;
use crate::output::Printer;
use crate::secret_input::KeySink;
use crate::session::ControlSession;

pub(crate) async fn run(
    verb: OperatorKeyVerb,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match verb {
        OperatorKeyVerb::Rotate { new_key_fd } => {
            // First, so that no key is created that cannot be handed over.
            let sink = KeySink::open(new_key_fd)?
                .ok_or_else(|| CliError::usage(message!("error.ctl.noNewKeyDescriptor")))?;
            let rotated = session.run(&OperatorKeyRotate {}).await?;
            sink.write_key(&Secret::new(rotated.key.reveal()))?;
            output.done(&message!("ctl.key.replaced"))
        }
    }
}
