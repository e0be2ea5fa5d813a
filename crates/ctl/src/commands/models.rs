//! `models …`: the model providers, their keys, and what their models are used for.

use gatehouse_model::command::{
    ModelsAddProvider, ModelsAssign, ModelsList, ModelsRemoveProvider, ModelsSetProvider, ModelsShow,
    RequestSecret,
};
use gatehouse_model::provider::{ModelChoice, ModelInfo, ModelsView, ProviderDraft, ProviderView};
use gatehouse_model::{ErrorCode, Message, UserError, message};

use crate::cli::{AssignArgs, ModelsVerb, ProviderApiArg, ProviderKeyArgs};
use crate::error::CliError;
use crate::output::{Printer, table};
use crate::secret_input;
use crate::session::ControlSession;
use crate::terminal_text;

pub(crate) async fn run(
    verb: ModelsVerb,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match verb {
        ModelsVerb::List => {
            let view = session.run(&ModelsShow {}).await?;
            output.show(&view, describe)
        }
        ModelsVerb::Add { name, api, url, model, key } => {
            let base_url = url.unwrap_or_else(|| api.default_url().to_owned());
            let draft = ProviderDraft { name, api: api.into(), base_url, default_model: model };
            let key = read_key(&key, session)?;
            let provider = session.run(&ModelsAddProvider { draft, key }).await?;
            output.show(&provider, |provider| list(std::slice::from_ref(provider)))
        }
        ModelsVerb::Edit { provider, name, api, url, model, key, no_key } => {
            let now = find(&session.run(&ModelsShow {}).await?, &provider)?;
            let draft = ProviderDraft {
                name: name.unwrap_or(now.name),
                api: api.map_or(now.api, Into::into),
                base_url: url.unwrap_or(now.base_url),
                default_model: match model {
                    Some(model) => Some(model).filter(|model| model != "none"),
                    None => now.default_model,
                },
            };
            let key = if no_key {
                Some(RequestSecret::new(&gatehouse_model::Secret::new("")))
            } else {
                read_key(&key, session)?
            };
            let provider = session.run(&ModelsSetProvider { provider: now.id, draft, key }).await?;
            if now.has_key && !provider.has_key && !no_key {
                output.note(&terminal_text::message(&message!("ctl.models.keyDeleted")));
            }
            output.show(&provider, |provider| list(std::slice::from_ref(provider)))
        }
        ModelsVerb::Remove { provider } => {
            let provider = find(&session.run(&ModelsShow {}).await?, &provider)?.id;
            session.run(&ModelsRemoveProvider { provider }).await?;
            output.done(&message!("ctl.models.removed"))
        }
        ModelsVerb::Models { provider } => {
            let provider = find(&session.run(&ModelsShow {}).await?, &provider)?.id;
            let models = session.run(&ModelsList { provider, run: None }).await?;
            output.show(&models, |models| list_models(models))
        }
        ModelsVerb::Assign(wanted) => {
            let now = session.run(&ModelsShow {}).await?;
            session.run(&assignment(&now, wanted)?).await?;
            let view = session.run(&ModelsShow {}).await?;
            output.show(&view, uses)
        }
    }
}

/// The key that the options say where to read; `None` if there is none.
fn read_key(
    wanted: &ProviderKeyArgs,
    session: &mut ControlSession,
) -> Result<Option<RequestSecret>, CliError> {
    let key = match wanted {
        ProviderKeyArgs { key_fd: Some(descriptor), .. } => {
            secret_input::read_secret(*descriptor, message!("ctl.secret.providerKey"))?
        }
        ProviderKeyArgs { key: true, .. } => {
            // Typing may take longer than an idle connection lasts.
            session.disconnect();
            secret_input::prompt_for_secret(&message!("ctl.prompt.providerKey"))
                .ok_or_else(|| CliError::usage(message!("error.ctl.noProviderKey")))?
        }
        ProviderKeyArgs { key: false, key_fd: None } => return Ok(None),
    };
    Ok(Some(RequestSecret::new(&key)))
}

/// A provider by its id or name.
fn find(view: &ModelsView, wanted: &str) -> Result<ProviderView, CliError> {
    let by_id = view.providers.iter().find(|provider| provider.id.as_str() == wanted);
    let by_name = || {
        let wanted = wanted.trim().to_lowercase();
        view.providers.iter().find(|provider| provider.name.to_lowercase() == wanted)
    };
    by_id.or_else(by_name).cloned().ok_or_else(|| {
        let error = UserError::new(ErrorCode::NotFound, message!("error.ctl.noProvider", name = wanted));
        error.with_hint(message!("error.ctl.noProviderHint")).into()
    })
}

/// What is used from now on: what the options don't name stays.
fn assignment(now: &ModelsView, wanted: AssignArgs) -> Result<ModelsAssign, CliError> {
    let AssignArgs { sampling, no_sampling, opinion, no_opinion } = wanted;
    let choice =
        |words: Option<Vec<String>>, is_off: bool, before: &Option<ModelChoice>| match words.as_deref() {
            Some([provider, model]) => {
                let provider = find(now, provider)?.id;
                Ok::<_, CliError>(Some(ModelChoice { provider, model: model.clone() }))
            }
            Some(_) | None => Ok(if is_off { None } else { before.clone() }),
        };
    Ok(ModelsAssign {
        sampling: choice(sampling, no_sampling, &now.sampling)?,
        opinion: choice(opinion, no_opinion, &now.opinion)?,
    })
}

fn describe(view: &ModelsView) -> Vec<String> {
    let mut lines = list(&view.providers);
    lines.extend(uses(view));
    lines
}

/// What the models are used for.
fn uses(view: &ModelsView) -> Vec<String> {
    let label = |choice: &Option<ModelChoice>| -> Option<String> {
        let ModelChoice { provider, model } = choice.as_ref()?;
        let known = view.providers.iter().find(|known| known.id == *provider);
        Some(format!("{} · {model}", known.map_or(provider.as_str(), |known| known.name.as_str())))
    };
    let sampling = match label(&view.sampling) {
        Some(model) => message!("ctl.models.sampling", model = model),
        None => message!("ctl.models.noSampling"),
    };
    let opinion = match label(&view.opinion) {
        Some(model) => message!("ctl.models.opinion", model = model),
        None => message!("ctl.models.noOpinion"),
    };
    [sampling, opinion].iter().map(terminal_text::message).collect()
}

fn list(providers: &[ProviderView]) -> Vec<String> {
    let yes_no = |has_key: bool| -> Message {
        if has_key { message!("ctl.models.hasKey") } else { message!("ctl.models.noKey") }
    };
    let rows: Vec<Vec<String>> = providers
        .iter()
        .map(|provider| {
            vec![
                provider.name.clone(),
                provider.id.to_string(),
                ProviderApiArg::word(provider.api).to_owned(),
                provider.base_url.clone(),
                provider.default_model.clone().unwrap_or_else(|| "-".to_owned()),
                terminal_text::message(&yes_no(provider.has_key)),
            ]
        })
        .collect();
    table(
        &[
            message!("ctl.column.name"),
            message!("ctl.column.id"),
            message!("ctl.column.api"),
            message!("ctl.column.address"),
            message!("ctl.column.model"),
            message!("ctl.column.key"),
        ],
        &rows,
        &message!("ctl.models.none"),
    )
}

fn list_models(models: &[ModelInfo]) -> Vec<String> {
    let rows: Vec<Vec<String>> =
        models.iter().map(|model| vec![model.id.clone(), model.name.clone().unwrap_or_default()]).collect();
    table(&[message!("ctl.column.id"), message!("ctl.column.name")], &rows, &message!("ctl.models.noModels"))
}
