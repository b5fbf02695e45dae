"""The base of all answers, and masking: secrets are hidden here and nowhere else.

A field of type `MaskedText` or `MaskedJson` is masked when the model is made, so an answer never holds a secret.
Which names of a task's arguments are secret is passed as validation context:
``JobDetail.model_validate(row, context={"marked": task.secret})``.
"""

from __future__ import annotations

from json import loads
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationInfo

from jobtrail.job.masking import mask_text, masked
from jobtrail.job.model import file_name

ID = "0197e2c4-8a1b-7c3d-9e4f-1a2b3c4d5e6f"  # the job of the examples
ERROR_LINE = 300  # characters of an error in one line
NO_MARKS: frozenset[str] = frozenset()


class Model(BaseModel):
    """The base of answers and request bodies. It can be made from a row with attributes of the same names."""

    model_config = ConfigDict(extra="forbid", from_attributes=True, populate_by_name=True)


class CappedCount(Model):
    """A number; ``more`` where there are, or may be, more than that."""

    number: int
    more: bool


# -- masking -------------------------------------------------------------------------------------------


def masked_text(text: str | None) -> str | None:
    """A text with its secrets hidden."""
    return mask_text(text) if text else text


def parsed(text: str | None) -> Any:
    """Stored JSON as a value, or the text itself where it is not JSON."""
    if text is None:
        return None
    try:
        return loads(text)
    except ValueError:
        return text


def marks_of(info: ValidationInfo) -> frozenset[str]:
    """The names of secret arguments that were passed as validation context."""
    marked: frozenset[str] = (info.context or {}).get("marked", NO_MARKS)
    return marked


def error_line(text: str | None) -> str | None:
    """Type and message of a stored error, in one line and masked."""
    found = parsed(text)
    if isinstance(found, dict):
        found = ": ".join(str(part) for part in (found.get("type"), found.get("message")) if part)
    return (masked_text(str(found)) or "")[:ERROR_LINE] or None if found else None


def _masked_json(stored: Any, info: ValidationInfo) -> Any:
    return masked(parsed(stored) if isinstance(stored, str) else stored, marks_of(info))


def _masked_value(value: Any, info: ValidationInfo) -> Any:
    return masked(value, marks_of(info))


def _masked_text(text: str, info: ValidationInfo) -> str:
    return mask_text(text, marks_of(info))


def masked_file_name(stored: str | None) -> str | None:
    """The name of a stored input file, masked."""
    return masked_text(file_name(stored))


MaskedText = Annotated[str, AfterValidator(_masked_text)]
MaskedJson = Annotated[Any, BeforeValidator(_masked_json)]  # from stored JSON
MaskedValue = Annotated[Any, BeforeValidator(_masked_value)]  # from a value that is no JSON text
MaskedObject = Annotated[dict[str, Any], BeforeValidator(_masked_value)]  # from a mapping
FileName = Annotated[str | None, BeforeValidator(masked_file_name)]  # from the stored input file
ErrorLine = Annotated[str | None, BeforeValidator(error_line)]  # from a stored error
