/* A form from a JSON schema: react-jsonschema-form with plain fields, and a check that builds no code from text. */
import Form from "@rjsf/core/lib/components/Form.js";
import {
  type ArrayFieldItemButtonsTemplateProps,
  createErrorHandler,
  type ErrorListProps,
  type FieldProps,
  type FieldTemplateProps,
  type IconButtonProps,
  type RJSFSchema,
  type RJSFValidationError,
  toErrorSchema,
  unwrapErrorHandler,
  type ValidatorType,
  validationDataMerge,
} from "@rjsf/utils";
import { type ReactNode, useMemo, useState } from "react";
import { t, tWord, useSpeech } from "../i18n";
import { concealed, misfits } from "../lib/check";
import { numberOf, shown, wholeOf } from "../lib/exact";
import { Note } from "./basic";

function errorsOf(schema: RJSFSchema, data: unknown): RJSFValidationError[] {
  return misfits(schema, data).map(({ path, keyword, wanted }) => {
    const message = worded(keyword, wanted);
    const property = path.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join("");
    return { name: keyword, property, message, stack: `${property.replace(/^\./, "")} ${message}`.trim() };
  });
}

/** What does not fit, in the language of the page. */
function worded(keyword: string, wanted: unknown): string {
  const what = [wanted].flat().map((kind) => tWord("type", String(kind)));
  const said = tWord("misfit", keyword, { n: Number(wanted), what: what.join(", ") });
  return said === keyword ? t("misfit.other") : said;
}

const validator: ValidatorType = {
  validateFormData(data, schema, customValidate, transformErrors, uiSchema) {
    let errors = errorsOf(schema, data);
    if (transformErrors) errors = transformErrors(errors, uiSchema);
    const found = { errors, errorSchema: toErrorSchema(errors) };
    if (!customValidate) return found;
    return validationDataMerge(found, unwrapErrorHandler(customValidate(data, createErrorHandler(data), uiSchema)));
  },
  isValid(schema, data, root) {
    try {
      const whole = root.$defs && !schema.$defs ? { ...schema, $defs: root.$defs } : schema;
      return misfits(whole, data).length === 0;
    } catch {
      return false;
    }
  },
  rawValidation(schema, data) {
    return { errors: errorsOf(schema, data) as never[] };
  },
};

function Field({
  id,
  label,
  required,
  description,
  errors,
  rawErrors,
  children,
  hidden,
  displayLabel,
  schema,
}: FieldTemplateProps) {
  if (hidden) return <div hidden>{children}</div>;
  const inside = schema.type === "object" || schema.type === "array";
  const checkbox = schema.type === "boolean";
  return (
    <div className={`form-group ${rawErrors?.length ? "wrong" : ""} ${inside ? "group" : ""}`}>
      {displayLabel && !checkbox && (
        <label htmlFor={id}>
          {label}
          {required && <span className="req"> *</span>}
        </label>
      )}
      {children}
      {displayLabel && description ? <div className="small dim">{description}</div> : null}
      {errors}
    </div>
  );
}

function ErrorList({ errors }: ErrorListProps) {
  const { t } = useSpeech();
  return (
    <Note tone="failed" icon="failed" live>
      <b>{t("form.wrong", { n: errors.length })}</b>
    </Note>
  );
}

function plain(icon: string, text: "form.add" | "form.remove" | "form.up" | "form.down" | "form.copy") {
  return function FormButton({ onClick, disabled, id }: IconButtonProps) {
    const { t } = useSpeech();
    return (
      <button
        type="button"
        id={id}
        className="btn quiet"
        disabled={disabled}
        onClick={onClick}
        title={t(text)}
        aria-label={t(text)}
      >
        {icon}
        {text === "form.add" ? ` ${t(text)}` : ""}
      </button>
    );
  };
}

function ItemButtons({
  buttonId,
  fieldPathId,
  hasMoveUp,
  hasMoveDown,
  hasRemove,
  disabled,
  onMoveUpItem,
  onMoveDownItem,
  onRemoveItem,
  registry,
}: ArrayFieldItemButtonsTemplateProps & { buttonId?: string }) {
  const { MoveUpButton, MoveDownButton, RemoveButton } = registry.templates.ButtonTemplates;
  const id = buttonId ?? fieldPathId.$id;
  return (
    <>
      {hasMoveUp && <MoveUpButton id={`${id}-up`} disabled={disabled} onClick={onMoveUpItem} registry={registry} />}
      {hasMoveDown && (
        <MoveDownButton id={`${id}-down`} disabled={disabled} onClick={onMoveDownItem} registry={registry} />
      )}
      {hasRemove && <RemoveButton id={`${id}-remove`} disabled={disabled} onClick={onRemoveItem} registry={registry} />}
    </>
  );
}

/** A number stays the text that was typed: a browser's own number field would round it. */
function NumberField(props: FieldProps) {
  const { formData, onChange, schema, registry, uiSchema } = props;
  const StringField = registry.fields.StringField!;
  const [typed, setTyped] = useState<string>();
  const read = schema.type === "integer" ? wholeOf : numberOf;
  const changed: FieldProps["onChange"] = (value, ...rest) => {
    if (typeof value !== "string") return onChange(value, ...rest);
    setTyped(value);
    onChange(value.trim() === "" ? undefined : (read(value) ?? value), ...rest);
  };
  const isTyped = typed !== undefined && (read(typed) ?? typed) === formData;
  const options = { ...(uiSchema?.["ui:options"] as object | undefined), inputType: "text" };
  return (
    <StringField
      {...props}
      formData={isTyped ? typed : shown(formData)}
      uiSchema={{ ...uiSchema, "ui:options": options }}
      onChange={changed}
    />
  );
}

const fields = { NumberField };

const templates = {
  FieldTemplate: Field,
  ErrorListTemplate: ErrorList,
  ArrayFieldItemButtonsTemplate: ItemButtons,
  ButtonTemplates: {
    AddButton: plain("+", "form.add"),
    RemoveButton: plain("×", "form.remove"),
    ClearButton: plain("×", "form.remove"),
    CopyButton: plain("⧉", "form.copy"),
    MoveUpButton: plain("↑", "form.up"),
    MoveDownButton: plain("↓", "form.down"),
  },
};

interface SchemaFormProps {
  id: string;
  schema: unknown;
  value: unknown;
  onChange: (value: unknown) => void;
  onSubmit: (value: unknown) => void;
  children: ReactNode;
}

export default function SchemaForm({ id, schema, value, onChange, onSubmit, children }: SchemaFormProps) {
  const { lang } = useSpeech();
  const form = useMemo(() => concealed(schema) as RJSFSchema, [schema]);
  return (
    <Form
      key={lang}
      id={id}
      className="schema-form"
      schema={form}
      formData={value}
      validator={validator}
      templates={templates}
      fields={fields}
      showErrorList="top"
      noHtml5Validate
      onChange={(event) => onChange(event.formData)}
      onSubmit={(event) => onSubmit(event.formData)}
      onError={() => {}}
    >
      {children}
    </Form>
  );
}
