"""The check and the clean-up as SQL, for pg_cron or cron: the same transitions without a running worker.

The statements write what `store` writes: status, one line of history, and the event for notifications where its table is.
"""

from __future__ import annotations

from textwrap import dedent

from jobtrail.database.types import storable

# Both databases share the judgement; {…} are their ways to say the same.
_JUDGED = """
SELECT module, version, last_activity, status AS was, since, base, worst,
       CASE WHEN error_due <= {at} AND base <> 'error' THEN 'error'
            WHEN warn_due <= {at} AND base IN ('new', 'ok') THEN 'warning'
            ELSE base END AS "to",
       warn_due, error_due, start, resumed_at, warn_after, error_after
FROM (
  SELECT module, version, last_activity, status, since, worst, warn_after, error_after,
         CASE WHEN status = 'paused' THEN coalesce(before_pause, 'ok') ELSE status END AS base,
         CASE WHEN status = 'paused' THEN {greatest}(warn_at, {paused_warn}) ELSE warn_at END AS warn_due,
         CASE WHEN status = 'paused' THEN {greatest}(error_at, {paused_error}) ELSE error_at END AS error_due,
         CASE WHEN status = 'paused' THEN {greatest}(counts_from, paused_until) ELSE counts_from END AS start,
         CASE WHEN status = 'paused' THEN paused_until END AS resumed_at
  FROM office_module_status
  WHERE (status = 'paused' AND paused_until <= {at})
     OR (status IN ('new', 'ok') AND warn_at <= {at})
     OR (status = 'warning' AND error_at <= {at})
  {lock}
) AS due"""

_REASON = """CASE WHEN base = "to" THEN '@office.pause-ended'
            ELSE (CASE WHEN last_activity IS NULL THEN '@office.never-reported ' ELSE '@office.silent ' END)
              || '{"limit":' || CAST(floor(CASE "to" WHEN 'error' THEN error_after ELSE warn_after END) AS {integer}) || '}' END"""
_WORST = """CASE WHEN "to" IN ('new', 'ok') THEN NULL WHEN "to" = 'error' OR worst = 'error' THEN 'error' ELSE 'warning' END"""
_DUE_AT = """CASE "to" WHEN 'error' THEN NULL WHEN 'warning' THEN error_due ELSE warn_due END"""
_TOLD = """("to" IN ('warning', 'error') AND (was <> 'paused' OR worst IS NULL OR (worst = 'warning' AND "to" = 'error')))
     OR ("to" = 'ok' AND worst IS NOT NULL)"""
_KIND = """CASE "to" WHEN 'ok' THEN 'module.recovered' ELSE 'module.' || "to" END"""

_POSTGRES_CHECK = """
DO $check$
DECLARE
  at timestamptz := {now};
  seen record;
BEGIN
  SELECT looked_at, look_by, cadence INTO seen FROM office_watch WHERE name = 'watch' FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO office_watch (name, looked_at, look_by, cadence) VALUES ('watch', at, at + interval '{until} seconds', {every})
    ON CONFLICT DO NOTHING;
  ELSIF at > seen.look_by OR seen.cadence >= {every} THEN
    UPDATE office_watch SET looked_at = at, look_by = at + interval '{until} seconds', cadence = {every},
      back_at = CASE WHEN at > seen.look_by THEN at ELSE back_at END WHERE name = 'watch';
    IF at > seen.look_by THEN -- nobody looked meanwhile: silence counts from now
      INSERT INTO office_module_status_history (recorded_at, module, "from", "to", reason)
      SELECT at, module, status, status, '@office.not-observed {{"since":"' || to_char(seen.looked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')
        || ' UTC","until":"' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC"}}'
      FROM office_module_status WHERE status <> 'paused' ORDER BY module;
      UPDATE office_module_status SET counts_from = greatest(counts_from, at), version = version + 1,
        warn_at = greatest(warn_at, at + warn_after * interval '1 second'),
        error_at = greatest(error_at, at + error_after * interval '1 second'),
        due_at = CASE status WHEN 'error' THEN NULL WHEN 'warning' THEN greatest(error_at, at + error_after * interval '1 second')
                 ELSE greatest(warn_at, at + warn_after * interval '1 second') END
      WHERE status <> 'paused';
    END IF;
  END IF;
  CREATE TEMPORARY TABLE IF NOT EXISTS office_judged ON COMMIT DROP AS {judged};
  INSERT INTO office_module_status_history (recorded_at, module, "from", "to", reason)
  SELECT at, module, was, "to", {reason} FROM office_judged ORDER BY module;
  UPDATE office_module_status AS status SET status = judged."to", since = CASE WHEN base = judged."to" THEN resumed_at ELSE at END,
    streak = CASE WHEN base = judged."to" THEN streak ELSE 0 END, version = status.version + 1, before_pause = NULL,
    paused_until = NULL, counts_from = judged.start, warn_at = warn_due, error_at = error_due, due_at = {due_at}, worst = new_worst
  FROM (SELECT *, {worst} AS new_worst FROM office_judged) AS judged WHERE status.module = judged.module;
  IF to_regclass('notify_events') IS NOT NULL THEN
    INSERT INTO notify_events (key, kind, subject, resolved, facts, at)
    SELECT gen_random_uuid()::text, {kind}, module, false,
      json_build_object('module', module, 'from', was, 'to', "to", 'reason', {reason}, 'worst', coalesce({worst}, worst),
        'last_activity', last_activity)::text, at
    FROM office_judged WHERE {told} ORDER BY module;
  END IF;
  DROP TABLE office_judged;
END
$check$;"""

_SQLITE_CHECK = """
PRAGMA busy_timeout = 10000;
BEGIN IMMEDIATE;
CREATE TEMPORARY TABLE office_now AS SELECT {now} AS at;
CREATE TEMPORARY TABLE office_seen AS
  SELECT looked_at, look_by, cadence, (SELECT at FROM office_now) > look_by AS blind FROM office_watch WHERE name = 'watch';
INSERT INTO office_watch (name, looked_at, look_by, cadence)
  SELECT 'watch', at, at + {until} * 1000000, {every} FROM office_now WHERE true ON CONFLICT DO NOTHING;
UPDATE office_watch SET looked_at = (SELECT at FROM office_now), look_by = (SELECT at FROM office_now) + {until} * 1000000, cadence = {every},
  back_at = CASE WHEN (SELECT blind FROM office_seen) THEN (SELECT at FROM office_now) ELSE back_at END
  WHERE name = 'watch' AND EXISTS (SELECT 1 FROM office_seen WHERE blind OR cadence >= {every});
INSERT INTO office_module_status_history (recorded_at, module, "from", "to", reason)
  SELECT at, module, status, status, '@office.not-observed {{"since":"' || strftime('%Y-%m-%d %H:%M', looked_at / 1000000, 'unixepoch')
    || ' UTC","until":"' || strftime('%Y-%m-%d %H:%M', at / 1000000, 'unixepoch') || ' UTC"}}'
  FROM office_module_status, office_now, office_seen WHERE blind AND status <> 'paused' ORDER BY module;
UPDATE office_module_status SET counts_from = max(counts_from, at), version = version + 1,
  warn_at = max(warn_at, at + CAST(warn_after * 1000000 AS INTEGER)), error_at = max(error_at, at + CAST(error_after * 1000000 AS INTEGER)),
  due_at = CASE status WHEN 'error' THEN NULL WHEN 'warning' THEN max(error_at, at + CAST(error_after * 1000000 AS INTEGER))
           ELSE max(warn_at, at + CAST(warn_after * 1000000 AS INTEGER)) END
  FROM office_now, office_seen WHERE blind AND status <> 'paused';
CREATE TEMPORARY TABLE office_judged AS {judged};
INSERT INTO office_module_status_history (recorded_at, module, "from", "to", reason)
  SELECT (SELECT at FROM office_now), module, was, "to", {reason} FROM office_judged ORDER BY module;
{events}UPDATE office_module_status SET status = judged."to", streak = CASE WHEN base = judged."to" THEN streak ELSE 0 END,
  since = CASE WHEN base = judged."to" THEN resumed_at ELSE (SELECT at FROM office_now) END,
  version = office_module_status.version + 1, before_pause = NULL, paused_until = NULL, counts_from = judged.start,
  warn_at = warn_due, error_at = error_due, due_at = {due_at}, worst = new_worst
  FROM (SELECT *, {worst} AS new_worst FROM office_judged) AS judged WHERE office_module_status.module = judged.module;
DROP TABLE office_judged;
DROP TABLE office_seen;
DROP TABLE office_now;
COMMIT;"""

_SQLITE_EVENTS = """INSERT INTO notify_events (key, kind, subject, resolved, facts, at)
  SELECT lower(hex(randomblob(16))), {kind}, module, 0, json_object('module', module, 'from', was, 'to', "to", 'reason', {reason},
    'worst', coalesce({worst}, worst)), (SELECT at FROM office_now)
  FROM office_judged WHERE {told} ORDER BY module;
"""

_POSTGRES_CLEAN = """
DO $clean$
DECLARE
  edge timestamptz := {now} - interval '{hours} hours';
  done timestamptz := (SELECT min(aggregated_until) FROM office_watch);
BEGIN
  IF done > edge - interval '7 days' THEN edge := least(edge, done); END IF; -- figures first
  LOOP
    DELETE FROM office_module_status_history WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM office_module_status_history WHERE recorded_at < edge ORDER BY recorded_at LIMIT 5000));
    EXIT WHEN NOT FOUND;
    COMMIT;
  END LOOP;
END
$clean$;"""

_SQLITE_CLEAN = """
PRAGMA busy_timeout = 10000;
DELETE FROM office_module_status_history WHERE rowid IN (
  SELECT rowid FROM office_module_status_history WHERE recorded_at < (
    SELECT CASE WHEN done > edge - 7 * 86400000000 THEN min(edge, done) ELSE edge END
    FROM (SELECT {now} - CAST({hours} * 3600000000 AS INTEGER) AS edge, (SELECT min(aggregated_until) FROM office_watch) AS done))
  ORDER BY recorded_at LIMIT 50000);"""

_NOW = {"postgresql": "clock_timestamp()", "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"}


def check(dialect: str, *, every: float, tolerance: float, now: str | None = None, notifies: bool = True) -> str:
    """Return the check as SQL.

    Args:
        dialect: "sqlite" or "postgresql".
        every: Seconds between two runs.
        tolerance: Seconds without a look after which nobody was watching.
        now: The time as an expression, for tests.
        notifies: Whether the SQLite script writes events for notifications; PostgreSQL looks for the table itself.
    """
    until = f"{max(tolerance, 2 * every):g}"
    names = {"now": now or _NOW[dialect], "until": until, "every": f"{every:g}", "worst": _WORST, "due_at": _DUE_AT}
    if dialect == "postgresql":
        judged = _JUDGED.format(
            at="at", greatest="greatest", lock="ORDER BY module FOR UPDATE",
            paused_warn="paused_until + warn_after * interval '1 second'",
            paused_error="paused_until + error_after * interval '1 second'",
        )  # fmt: skip
        reason = _REASON.replace("{integer}", "bigint")
        text = _POSTGRES_CHECK.format(judged=judged, reason=reason, kind=_KIND, told=_TOLD, **names)
    else:
        judged = _JUDGED.format(
            at="(SELECT at FROM office_now)", greatest="max", lock="",
            paused_warn="paused_until + CAST(warn_after * 1000000 AS INTEGER)",
            paused_error="paused_until + CAST(error_after * 1000000 AS INTEGER)",
        )  # fmt: skip
        reason = _REASON.replace("{integer}", "INTEGER").replace("floor(", "(")
        events = _SQLITE_EVENTS.format(reason=reason, kind=_KIND, told=_TOLD, worst=_WORST) if notifies else ""
        text = _SQLITE_CHECK.format(judged=judged, reason=reason, events=events, **names)
    return storable(dedent(text).strip())


def clean(dialect: str, *, hours: float, now: str | None = None) -> str:
    """Return the clean-up of history as SQL; it spares what has no figures yet, up to a week.

    Args:
        dialect: "sqlite" or "postgresql".
        hours: How long history is kept.
        now: The time as an expression, for tests.
    """
    text = _POSTGRES_CLEAN if dialect == "postgresql" else _SQLITE_CLEAN
    return dedent(text.format(now=now or _NOW[dialect], hours=f"{hours:g}")).strip()
