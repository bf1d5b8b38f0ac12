"""Registry of personal data: which fields hold it, for what purpose, and what erasing a rater does to them.

Every field of every table is here, or in the `core.personal_data` of its app, as personal (PERSONAL) or not (OTHER). A test
fails for a field that is in neither, docs/privacy.md shows PERSONAL, and `annotation.privacy.erasing` carries it out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from django.apps import apps

# Dotted paths of what deletes the results that are kept of a study: results name raters, and are computed again without an
# erased one.
FORGET_RESULTS: list[str] = []


class Fate(StrEnum):
    """The effect of erasing a rater on some fields."""

    DELETED = "deleted"
    PSEUDONYM = "replaced by a pseudonym"
    WITH_RATINGS = "deleted with a withdrawal"  # kept with the ratings where only the identity is erased
    KEPT = "kept"


@dataclass(frozen=True)
class Entry:
    """Fields of one table that hold personal data."""

    model: str
    fields: str
    purpose: str
    fate: Fate
    note: str = ""

    @property
    def names(self) -> frozenset[str]:
        """The fields' names."""
        return frozenset(self.fields.split())


PERSONAL = (
    Entry(
        "auth.User",
        "username password first_name last_name email last_login is_active date_joined",
        "signing in",
        Fate.DELETED,
        "unless the account has other roles, or rates elsewhere",
    ),
    Entry(
        "annotation.ApiToken",
        "user name digest scopes limited created_at expires_at last_used_at",
        "the API; of the key a hash",
        Fate.DELETED,
        "with the account",
    ),
    Entry(
        "reporting.SentRequest",
        "user key digest status location answer sent_at",
        "doing once what a program sends again",
        Fate.DELETED,
        "with the account; all of them after a day, with the next",
    ),
    Entry("annotation.ApiToken_studies", "apitoken study", "the studies of a token", Fate.DELETED, "with the account"),
    Entry(
        "annotation.RoleGrant", "user role study group granted_at", "who may do what", Fate.DELETED, "an annotator's"
    ),
    Entry(
        "otp_totp.TOTPDevice",
        "user name confirmed throttling_failure_timestamp throttling_failure_count created_at last_used_at key step t0 digits "
        "tolerance drift last_t",
        "the second factor: the secret of an authenticator app",
        Fate.DELETED,
        "with the account",
    ),
    Entry(
        "otp_static.StaticDevice",
        "user name confirmed throttling_failure_timestamp throttling_failure_count created_at last_used_at",
        "the second factor: backup codes",
        Fate.DELETED,
        "with the account",
    ),
    Entry(
        "otp_static.StaticToken", "device token", "a backup code", Fate.DELETED, "with the account, or when it is used"
    ),
    Entry("auth.User_groups", "user group", "not used", Fate.DELETED, "with the account"),
    Entry("auth.User_user_permissions", "user permission", "not used", Fate.DELETED, "with the account"),
    Entry(
        "annotation.Upload",
        "asked_by message bad_lines",
        "who sent a file, and why it was refused, which may quote raters' codes",
        Fate.DELETED,
        "all uploads of the study that were read",
    ),
    Entry(
        "sessions.Session",
        "session_key session_data expire_date",
        "staying signed in, and using a sign-in link again whose answer was lost",
        Fate.KEPT,
        "until it runs out; it holds the number of an account that is gone",
    ),
    *(
        Entry(
            f"axes.{model}",
            f"username ip_address user_agent {more} http_accept path_info attempt_time",
            "failed sign-ins, against guessing; of the address a keyed hash",
            Fate.DELETED,
            "under the account's name; all of them after a week, with `erase_expired`",
        )
        for model, more in (("AccessAttempt", "get_data post_data"), ("AccessFailureLog", "locked_out"))
    ),
    Entry(
        "axes.AccessLog",
        "username ip_address user_agent http_accept path_info attempt_time logout_time session_hash",
        "not written",
        Fate.DELETED,
    ),
    Entry(
        "admin.LogEntry",
        "user object_id object_repr change_message action_time",
        "what was done in Django's admin",
        Fate.DELETED,
        "what is about the account, or was done by it",
    ),
    Entry("annotation.Annotator", "user", "whose account it is", Fate.DELETED, "with the account"),
    Entry(
        "annotation.Annotator",
        "code",
        "naming a rater in results",
        Fate.KEPT,
        "drawn at random; one that a file brought is replaced by a drawn one",
    ),
    Entry("annotation.Annotator", "kind joined_at withdrawn_at erased_at excluded", "a rater's standing", Fate.KEPT),
    Entry(
        "annotation.Annotator",
        "exclusion_reason warned_at blocked_at block_reason",
        "why a rater's work ended",
        Fate.WITH_RATINGS,
    ),
    Entry(
        "annotation.Consent",
        "annotator version text accepted answered_at",
        "proof of what was agreed to, and that it was taken back",
        Fate.KEPT,
        "under the code",
    ),
    Entry(
        "annotation.QualificationResult",
        "annotator attempt pairs right needed_share passed finished_at",
        "who may rate",
        Fate.WITH_RATINGS,
    ),
    Entry("annotation.ArmDraw", "annotator number arm", "keeping the arms even", Fate.KEPT, "under the code"),
    Entry(
        "annotation.Assignment",
        "annotator hit state purpose attempt repeat_of arm late excluded submitted_at pay_due",
        "which HITs a rater had, and what pay is due",
        Fate.KEPT,
        "under the code, for accounts",
    ),
    Entry(
        "annotation.Assignment",
        "claimed_at expires_at locked_at returned_at return_reason return_comment work_seconds exclusion_reason",
        "the course of the work, and why a HIT was returned, in a rater's own words",
        Fate.WITH_RATINGS,
    ),
    Entry(
        "annotation.Display",
        "assignment pair position a_is_left seed shown_at table second_shown_at",
        "what a rater saw, and when",
        Fate.WITH_RATINGS,
    ),
    Entry(
        "annotation.Rating",
        "display stage question verdict strength tie_kind reason table arm active_seconds wall_seconds rated_at late translated "
        "software_version",
        "the votes, with reasons in a rater's own words",
        Fate.WITH_RATINGS,
    ),
    Entry(
        "annotation.VoteChange",
        "display stage question verdict strength tie_kind reason received_at chosen_at page active_seconds wall_seconds source_opened late "
        "software_version",
        "how votes came about",
        Fate.WITH_RATINGS,
    ),
    Entry(
        "annotation.Flag",
        "display kind comment table row flagged_at taken_back_at",
        "reports, with comments in a rater's own words",
        Fate.WITH_RATINGS,
    ),
    Entry("annotation.Message", "annotator text sent_at read_at", "lines from the study's admins", Fate.DELETED),
    Entry(
        "annotation.Event",
        "reason changes",
        "why admins decided something about a rater",
        Fate.WITH_RATINGS,
        "messages to the rater in any case",
    ),
    Entry("annotation.Event", "annotator assignment", "whom a decision was about", Fate.KEPT, "under the code"),
    Entry("annotation.Event", "by", "which admin decided", Fate.KEPT, "emptied when that admin's account is deleted"),
    Entry(
        "annotation.Invitation",
        "annotator channel digest created_at expires_at used_at",
        "a one-time link",
        Fate.DELETED,
    ),
    Entry(
        "annotation.Mail",
        "address error",
        "a mail; the address until it is sent, of one that could not be sent for a week",
        Fate.DELETED,
        "with the invitation or the account",
    ),
    Entry(
        "annotation.Mail",
        "address_digest user invitation created_at ended_at",
        "limits of mails to one address, which is hashed with a key",
        Fate.DELETED,
        "with the invitation or the account; all of them after a week, with `erase_expired`",
    ),
    Entry(
        "annotation.Participant",
        "external_id",
        "a platform's id for a rater",
        Fate.PSEUDONYM,
        "so that messages of the platform restore nothing, and the person cannot join again",
    ),
    Entry("annotation.Participant", "annotator channel joined_at", "through which channel a rater came", Fate.KEPT),
    Entry("annotation.Submission", "external_id", "a platform's id for a piece of work", Fate.PSEUDONYM),
    Entry("annotation.Submission", "details code", "what a platform said of it", Fate.DELETED),
    Entry(
        "annotation.Submission",
        "participant assignment channel state started_at ended_at",
        "its outcome",
        Fate.KEPT,
    ),
    Entry(
        "annotation.PlatformAction",
        "key payload answer",
        "what was asked of a platform: approvals, bonuses",
        Fate.DELETED,
        "an amount that was paid stays",
    ),
    Entry(
        "annotation.PlatformAction",
        "submission state",
        "whether it was done",
        Fate.KEPT,
    ),
    Entry(
        "annotation.WebhookEvent",
        "event_id body received_at applied_at",
        "messages of a platform",
        Fate.DELETED,
    ),
    Entry(
        "annotation.Channel",
        "options",
        "how many newcomers came from one address in the last hour, as hashes",
        Fate.KEPT,
        "for an hour, or until the next person joins; tied to no rater",
    ),
    Entry("annotation.Study", "contact", "how raters reach the researcher", Fate.KEPT, "until it is changed"),
    Entry(
        "annotation.SeparabilityJob", "asked_by", "who started it", Fate.KEPT, "emptied when that account is deleted"
    ),
)

# Fields without personal data. Of a study and a batch, which researchers make, all that PERSONAL does not name.
ALL_OTHERS = "*"
JOB = "status message done total rate created_at heartbeat_at executor ended_at software_version"
OTHER = {
    "annotation.ResearchGroup": "slug name created_at",
    "annotation.Study": ALL_OTHERS,
    "annotation.ImportRecord": "study kind file_name sha256 options counts added taken_back_at imported_at",
    "annotation.Upload": "key study kind names options size status executor asked_at finished_at",
    "annotation.System": "study name family position",
    "annotation.Instance": "study instance_id dataset source messages gold metadata position",
    "annotation.Generation": "instance system index text messages text_md5",
    "annotation.Matchup": "instance system_a system_b",
    "annotation.Pair": "key matchup index generation_a generation_b",
    "annotation.ComparisonTable": "study table_id pair variant aspects rows made_by",
    "annotation.Annotator": "study",
    "annotation.Batch": ALL_OTHERS,
    "annotation.Hit": "key batch matchup position external_id inclusion_probability",
    "annotation.HitPair": "hit pair position",
    "annotation.Slot": "hit batch number position arm assignment",
    "annotation.Assignment": "key seed",
    "annotation.Event": "study kind batch happened_at",
    "annotation.ArmDraw": "study instance",
    "annotation.AuditEntry": "happened_at account method action about status request_id changes",
    "annotation.Channel": "key study batch kind name is_open created_at",
    "annotation.Mail": "key kind state language attempts due_at",
    "annotation.PlatformAction": "channel kind attempts created_at ended_at",
    "annotation.WebhookEvent": "channel",
    "annotation.SeparabilityRun": "similarity model model_fingerprint samples cross_pairs seed study dataset system_a "
    "system_b group low high texts_sha256 short computed_at seconds software_version",
    "annotation.Alignment": "digest self_a self_b cross run matchup separability",
    "annotation.StagedAlignment": "digest self_a self_b cross measure_sha256 matchup staged_at",
    "annotation.SeparabilityJob": f"study asked {JOB}",
    "annotation.TextVector": "model text_sha256 vector made_at",
    "auth.User": "is_superuser is_staff",
    "auth.Group": "name",
    "auth.Group_permissions": "group permission",
    "auth.Permission": "name content_type codename",
    "contenttypes.ContentType": "app_label model",
    "admin.LogEntry": "content_type action_flag",
    "axes.AccessAttempt": "failures_since_start",
    "axes.AccessAttemptExpiration": "access_attempt expires_at",
    "django_tasks_database.DBTaskResult": "status enqueued_at started_at finished_at args_kwargs priority task_path "
    "worker_ids queue_name backend_name run_after return_value exception_class_path traceback",
}


def classified(entries: Iterable[Entry], reasons: dict[str, str]) -> list[tuple[str, str]]:
    """List every field that a registry names, as (model, field), with duplicates."""
    named = [(entry.model, name) for entry in entries for name in entry.fields.split()]
    for model, names in reasons.items():
        if names == ALL_OTHERS:
            fields = [field.name for field in apps.get_model(model)._meta.local_concrete_fields if field.name != "id"]
            names = " ".join(name for name in fields if (model, name) not in named)
        named += [(model, name) for name in names.split()]
    return named
