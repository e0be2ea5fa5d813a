import {
  ADDITIONAL_PROPERTY_FLAG,
  buttonId,
  canExpand,
  errorId,
  helpId,
  TranslatableString,
  type ArrayFieldItemTemplateProps,
  type ArrayFieldTemplateProps,
  type DescriptionFieldProps,
  type FieldErrorProps,
  type FieldHelpProps,
  type FieldTemplateProps,
  type MultiSchemaFieldTemplateProps,
  type ObjectFieldTemplateProps,
  type TemplatesType,
} from "@rjsf/utils";

import { MarkedText } from "../components/MarkedText";
import { seen } from "../components/invisibleChars";
import { FieldName, Input } from "./widgets";

/** How the parts of a form are put together. Texts of servers are shown as text alone, with marks for invisible characters. */
export const templates: Partial<Omit<TemplatesType, "ButtonTemplates">> = {
  BaseInputTemplate: Input,
  FieldTemplate: Field,
  ObjectFieldTemplate: Members,
  ArrayFieldTemplate: Items,
  ArrayFieldItemTemplate: Item,
  DescriptionFieldTemplate: Description,
  FieldErrorTemplate: Errors,
  FieldHelpTemplate: Help,
  MultiSchemaFieldTemplate: Alternatives,
  ErrorListTemplate: () => null,
};

function Field(props: FieldTemplateProps) {
  const {
    id,
    label,
    required,
    displayLabel,
    description,
    help,
    children,
    errors,
    hidden,
    schema,
    registry,
    disabled,
    readonly,
    onKeyRenameBlur,
    onRemoveProperty,
  } = props;
  if (hidden) return null;
  const isOwn = ADDITIONAL_PROPERTY_FLAG in schema;
  const { RemoveButton } = registry.templates.ButtonTemplates;
  return (
    <div className={isOwn ? "form-field form-own" : "form-field"}>
      {isOwn ? (
        <div className="form-key">
          <input
            className="form-control"
            aria-label={registry.translateString(TranslatableString.KeyLabel, [label])}
            defaultValue={label}
            onBlur={onKeyRenameBlur}
          />
          <RemoveButton
            id={buttonId(id, "remove")}
            disabled={disabled || readonly}
            onClick={onRemoveProperty}
            registry={registry}
          />
        </div>
      ) : (
        displayLabel &&
        !isChoices(schema) && (
          <label htmlFor={id}>
            <FieldName name={label} required={required} />
          </label>
        )
      )}
      {displayLabel && description}
      {children}
      {help}
      {errors}
    </div>
  );
}

/** Several boxes name themselves, as a group. */
const isChoices = ({ type, uniqueItems }: FieldTemplateProps["schema"]) => type === "array" && uniqueItems === true;

function Members({
  title,
  description,
  properties,
  required,
  schema,
  uiSchema,
  formData,
  fieldPathId,
  disabled,
  readonly,
  registry,
  onAddProperty,
}: ObjectFieldTemplateProps) {
  const isRoot = fieldPathId.path.length === 0;
  const { AddButton } = registry.templates.ButtonTemplates;
  const inside = (
    <>
      {properties.map(({ name, content }) => (
        <div key={name}>{content}</div>
      ))}
      {canExpand(schema, uiSchema, formData) && (
        <AddButton
          id={buttonId(fieldPathId, "add")}
          disabled={[disabled, readonly].includes(true)}
          onClick={onAddProperty}
          registry={registry}
        />
      )}
    </>
  );
  if (isRoot) return <div className="form-members">{inside}</div>;
  return (
    <fieldset className="form-group" id={fieldPathId.$id}>
      {title !== "" && (
        <legend>
          <FieldName name={title} required={required} />
        </legend>
      )}
      {typeof description === "string" && <Said text={description} />}
      <div className="form-members">{inside}</div>
    </fieldset>
  );
}

function Items({
  title,
  items,
  required,
  schema,
  canAdd,
  fieldPathId,
  disabled,
  readonly,
  registry,
  onAddClick,
}: ArrayFieldTemplateProps) {
  const { AddButton } = registry.templates.ButtonTemplates;
  return (
    <fieldset className="form-group" id={fieldPathId.$id}>
      <legend>
        <FieldName name={title} required={required} />
      </legend>
      {schema.description !== undefined && <Said text={schema.description} />}
      {items}
      {canAdd && (
        <AddButton
          id={buttonId(fieldPathId, "add")}
          disabled={[disabled, readonly].includes(true)}
          onClick={onAddClick}
          registry={registry}
        />
      )}
    </fieldset>
  );
}

function Item({ children, buttonsProps, hasToolbar, registry }: ArrayFieldItemTemplateProps) {
  const { ArrayFieldItemButtonsTemplate: Buttons } = registry.templates;
  return (
    <div className="form-item">
      <div className="form-item-field">{children}</div>
      {hasToolbar && (
        <div className="form-item-acts">
          <Buttons {...buttonsProps} />
        </div>
      )}
    </div>
  );
}

function Alternatives({ selector, optionSchemaField, registry }: MultiSchemaFieldTemplateProps) {
  return (
    <div className="form-either">
      {selector !== undefined && (
        <label className="form-said">
          {registry.translateString(TranslatableString.Type)}
          {selector}
        </label>
      )}
      {optionSchemaField}
    </div>
  );
}

function Description({ id, description }: DescriptionFieldProps) {
  if (typeof description !== "string" || description === "") return null;
  return <Said id={id} text={description} />;
}

function Help({ fieldPathId, help }: FieldHelpProps) {
  if (typeof help !== "string" || help === "") return null;
  return <Said id={helpId(fieldPathId)} text={help} />;
}

function Said({ id, text }: { id?: string; text: string }) {
  return (
    <p id={id} className="form-said">
      <MarkedText text={seen(text)} />
    </p>
  );
}

function Errors({ errors = [], fieldPathId }: FieldErrorProps) {
  if (errors.length === 0) return null;
  return (
    <div id={errorId(fieldPathId)} className="form-errors" role="alert">
      {errors.map((error, at) => (
        <p key={at}>{error}</p>
      ))}
    </div>
  );
}
