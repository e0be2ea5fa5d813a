import { ActionIcon, Button } from "@mantine/core";
import {
  ADDITIONAL_PROPERTY_FLAG,
  buttonId,
  canExpand,
  descriptionId,
  errorId,
  TranslatableString,
  type ArrayFieldItemTemplateProps,
  type ArrayFieldTemplateProps,
  type DescriptionFieldProps,
  type FieldErrorProps,
  type FieldTemplateProps,
  type IconButtonProps,
  type MultiSchemaFieldTemplateProps,
  type ObjectFieldTemplateProps,
  type TemplatesType,
  type WidgetProps,
} from "@rjsf/utils";
import { IconArrowDown, IconArrowUp, IconCopy, IconPlus, IconX, type TablerIcon } from "@tabler/icons-react";

/** How the parts of a form for arguments are put together. Texts of servers are shown as text alone. */
export const templates: Partial<Omit<TemplatesType, "ButtonTemplates">> & {
  ButtonTemplates: Partial<TemplatesType["ButtonTemplates"]>;
} = {
  FieldTemplate: Field,
  ObjectFieldTemplate: Members,
  ArrayFieldTemplate: Items,
  ArrayFieldItemTemplate: Item,
  DescriptionFieldTemplate: Description,
  FieldErrorTemplate: Faults,
  MultiSchemaFieldTemplate: Alternatives,
  ErrorListTemplate: () => null,
  ButtonTemplates: {
    SubmitButton: () => null,
    AddButton: Add,
    RemoveButton: iconButton(IconX, TranslatableString.RemoveButton),
    MoveUpButton: iconButton(IconArrowUp, TranslatableString.MoveUpButton),
    MoveDownButton: iconButton(IconArrowDown, TranslatableString.MoveDownButton),
    CopyButton: iconButton(IconCopy, TranslatableString.CopyButton),
  },
};

/** Texts of one line grow with what is typed; everything else is as its type wants it. */
export function TextWidget(props: WidgetProps) {
  const { id, schema, required, disabled, readonly, options, registry, rawErrors } = props;
  const value: unknown = props.value;
  const { BaseInputTemplate } = registry.templates;
  if (schema.type !== "string" || schema.format !== undefined) return <BaseInputTemplate {...props} />;
  const text = typeof value === "string" ? value : "";
  return (
    <textarea
      id={id}
      className="form-control"
      rows={Math.min(10, text.split("\n").length)}
      spellCheck={false}
      aria-required={required}
      aria-invalid={rawErrors !== undefined && rawErrors.length > 0}
      aria-describedby={`${errorId(id)} ${descriptionId(id)}`}
      disabled={disabled}
      readOnly={readonly}
      value={text}
      onChange={(event) => {
        const typed = event.currentTarget.value;
        props.onChange(typed === "" ? options.emptyValue : typed);
      }}
    />
  );
}

function Field(props: FieldTemplateProps) {
  const {
    id,
    label,
    required,
    displayLabel,
    description,
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
    <div className={isOwn ? "args-field args-own" : "args-field"}>
      {isOwn ? (
        <div className="args-key">
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
        displayLabel && (
          <label htmlFor={id}>
            {label}
            {required && <span className="args-required"> *</span>}
          </label>
        )
      )}
      {displayLabel && description}
      {children}
      {errors}
    </div>
  );
}

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
  if (isRoot) return <div className="args-members">{inside}</div>;
  return (
    <fieldset className="args-group" id={fieldPathId.$id}>
      {title !== "" && (
        <legend>
          {title}
          {required && <span className="args-required"> *</span>}
        </legend>
      )}
      {typeof description === "string" && <p className="args-said">{description}</p>}
      <div className="args-members">{inside}</div>
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
    <fieldset className="args-group" id={fieldPathId.$id}>
      <legend>
        {title}
        {required && <span className="args-required"> *</span>}
      </legend>
      {schema.description !== undefined && <p className="args-said">{schema.description}</p>}
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
    <div className="args-item">
      <div className="args-item-field">{children}</div>
      {hasToolbar && (
        <div className="args-item-acts">
          <Buttons {...buttonsProps} />
        </div>
      )}
    </div>
  );
}

function Alternatives({ selector, optionSchemaField, registry }: MultiSchemaFieldTemplateProps) {
  return (
    <div className="args-either">
      {selector !== undefined && (
        <label className="args-said">
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
  return (
    <p id={id} className="args-said">
      {description}
    </p>
  );
}

function Faults({ errors = [], fieldPathId }: FieldErrorProps) {
  if (errors.length === 0) return null;
  return (
    <ul id={errorId(fieldPathId)} className="args-faults" aria-live="polite">
      {errors.map((fault, at) => (
        <li key={at}>{fault}</li>
      ))}
    </ul>
  );
}

function Add({ id, disabled, onClick, registry }: IconButtonProps) {
  return (
    <Button
      id={id}
      size="compact-sm"
      variant="subtle"
      className="args-add"
      disabled={disabled === true}
      onClick={onClick}
      leftSection={<IconPlus size={14} aria-hidden />}
    >
      {registry.translateString(TranslatableString.AddButton)}
    </Button>
  );
}

function iconButton(Icon: TablerIcon, name: TranslatableString) {
  return function IconButton({ id, disabled, onClick, registry }: IconButtonProps) {
    return (
      <ActionIcon
        id={id}
        variant="subtle"
        color="gray"
        aria-label={registry.translateString(name)}
        disabled={disabled === true}
        onClick={onClick}
      >
        <Icon size={16} aria-hidden />
      </ActionIcon>
    );
  };
}
