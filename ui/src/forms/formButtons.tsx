import { ActionIcon, Button } from "@mantine/core";
import { TranslatableString, type IconButtonProps, type TemplatesType } from "@rjsf/utils";
import { IconArrowDown, IconArrowUp, IconCopy, IconPlus, IconX, type TablerIcon } from "@tabler/icons-react";

/** Buttons of lists and of objects that may have more members. */
export const buttons: Partial<TemplatesType["ButtonTemplates"]> = {
  AddButton: Add,
  RemoveButton: iconButton(IconX, TranslatableString.RemoveButton),
  MoveUpButton: iconButton(IconArrowUp, TranslatableString.MoveUpButton),
  MoveDownButton: iconButton(IconArrowDown, TranslatableString.MoveDownButton),
  CopyButton: iconButton(IconCopy, TranslatableString.CopyButton),
};

function Add({ id, disabled, onClick, registry }: IconButtonProps) {
  return (
    <Button
      id={id}
      size="compact-sm"
      variant="subtle"
      className="form-add"
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
