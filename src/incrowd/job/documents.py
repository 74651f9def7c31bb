"""What a release looks like, and what is written beside it: reports, certificates, keys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from incrowd.errors import JobError, unknown
from incrowd.guarantees.evidence import SETS, TABLES
from incrowd.options import documented, option

SYMMETRIES = ("none", "either", "both")
REPEATED = ("refuse", "compare", "exclude")
EDITIONS = ("owner", "public")
FILES = ("report", "certificate", "commitment_key", "sign_key", "pseudonym_secret")
"""The fields that name files, written or read."""

WORDS = {"title": "report_title", "note": "report_note", "date": "report_date"}
"""The owner's words for a report, and the fields that state them."""

LONGEST_TITLE, LONGEST_NOTE = 120, 3_000

NOT_WRITTEN = ("key", "save_policy", "report_for", "certificate_for", *WORDS.values(), *FILES)
"""What a job may write besides its release, and a grid of jobs does not: it publishes nothing."""


@documented
@dataclass(frozen=True)
class Documents:
    """The documents that a job asks for, and for whom."""

    report: str | None = option(
        None, help="Write a report of the release and its audit to this file (.html)."
    )
    report_for: str = option(
        "owner",
        help="Audience of the report: owner (with values and figures of the original) or public.",
        choices=EDITIONS,
    )
    report_title: str | None = option(
        None,
        help="Title of the report; a public certificate carries it too. Default: the data file, "
        "or the guarantee.",
    )
    report_note: str | None = option(
        None,
        help="Your own words under the report's title; a public certificate carries them too.",
    )
    report_date: str | None = option(
        None,
        help="Date of the report (YYYY-MM-DD); a public certificate carries it too. Default: today "
        "in the owner's report, none in a public one.",
    )
    certificate: str | None = option(
        None, help="Write a certificate of the audit to this file (.json)."
    )
    certificate_for: str = option(
        "owner",
        help="Audience of the certificate: owner (with all hashes and the job) or public.",
        choices=EDITIONS,
    )
    commitment_key: str | None = option(
        None,
        help="Add a commitment to the input to the public certificate; its new secret key is "
        "written to this file (mode 0600).",
    )
    sign_key: str | None = option(
        None,
        help="Sign the certificate with the Ed25519 private key in this PEM file; the "
        "signature is written beside it (.sig).",
    )

    @property
    def words(self) -> dict[str, str]:
        """The owner's words for a report, as far as they are stated: title, note, date."""
        stated = {name: getattr(self, field) for name, field in WORDS.items()}
        return {name: words for name, words in stated.items() if words}

    @property
    def written_files(self) -> list[Path]:
        """The files that the documents are written to."""
        stated = [self.report, self.certificate, self.commitment_key]
        if self.certificate and self.sign_key:
            stated.append(self.certificate + ".sig")
        return [Path(path) for path in stated if path]

    def refuse_contradictions(self) -> None:
        """Raise where the documents do not fit together."""
        for field in ("report_for", "certificate_for"):
            if getattr(self, field) not in EDITIONS:
                raise unknown("edition", getattr(self, field), EDITIONS, where=f"[release] {field}")
        for name, ending in (("report", ".html"), ("certificate", ".json")):
            stated = getattr(self, name)
            if stated is not None and not stated.endswith(ending):
                raise JobError(
                    f"[release] {name}: the file's name does not end in {ending}",
                    remedy=f"State --{name} {name}{ending}, for example.",
                )
        self._refuse_words()
        if self.sign_key and not self.certificate:
            raise JobError("what is signed is a certificate", remedy="State --certificate too.")
        if self.commitment_key and (not self.certificate or self.certificate_for != "public"):
            raise JobError(
                "a commitment to the input is part of a public certificate",
                remedy="State --certificate FILE.json --certificate-for public too.",
            )
        paths = [path.absolute() for path in self.written_files]
        if len(set(paths)) < len(paths):
            raise JobError("two documents have one name", remedy="Name them differently.")

    def _refuse_words(self) -> None:
        """Raise where the owner's words do not fit on a report."""
        for name, longest in (("report_title", LONGEST_TITLE), ("report_note", LONGEST_NOTE)):
            stated = getattr(self, name)
            if stated is None:
                continue
            if not isinstance(stated, str) or len(stated) > longest:
                raise JobError(
                    f"[release] {name}: not a text of at most {longest:,} characters",
                    remedy="Shorten it.",
                )
        if self.report_title and not self.report_title.isprintable():
            raise JobError(
                "[release] report_title: more than one line", remedy="Use --report-note for it."
            )
        if self.report_date is not None and not _is_date(self.report_date):
            raise JobError(
                "[release] report_date: not a date", remedy="Write it as YYYY-MM-DD, in quotes."
            )


def _is_date(text: object) -> bool:
    try:
        return isinstance(text, str) and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


@documented
@dataclass(frozen=True)
class ReleaseOptions(Documents):
    """What the release looks like, and what else is written."""

    keep_order: bool = option(
        False,
        help="Keep the original row order; the audit then holds only if the order is unknown.",
    )
    accept_insensitive: tuple[str, ...] = option(
        (), help="Insensitive columns to release although they can identify people.", about=TABLES
    )
    key: str | None = option(
        None, help="Write the private key (released row, original row) to this file (mode 0600)."
    )
    pseudonyms: str | None = option(
        None,
        help="Add a last column of this name with a random string for every row; the key file "
        "then has them too, beside the identifying columns.",
        about=TABLES,
    )
    pseudonym_secret: str | None = option(
        None,
        help="File with the secret that pseudonyms are made of, for the same ones in another run; "
        "written (mode 0600) if it does not exist. Default: a new secret, which is not kept.",
        about=TABLES,
    )
    suppression_limit: float = option(
        0.0,
        help="Maximum share of suppressed rows, 0 to 1.",
        minimum=0,
        maximum=1,
        about=TABLES,
    )
    warn_loss: float = option(
        0.5,
        help="Warn before publishing if more than this share of the information is lost, 0 to 1.",
        minimum=0,
        maximum=1,
    )
    save_policy: str | None = option(
        None,
        help="Save the generalization as a policy in this folder (mode 0700), for run --policy "
        "on another batch.",
        about=TABLES,
    )
    former: tuple[str, ...] = option(
        (),
        help="Former release of the same table: its people are not to be exposed by both "
        "together. Repeatable; a policy knows its own.",
        repeats=True,
        about=TABLES,
    )
    check_former: bool = option(
        True, help="Compare with the former releases that a policy knows.", about=TABLES
    )
    repeated_people: str = option(
        "refuse",
        help="People who are in a former release too: refuse the release; compare both and "
        "publish it if they expose nobody together; or exclude these people's rows.",
        choices=REPEATED,
        about=TABLES,
    )
    keep_suppressed: bool = option(
        False,
        help="Write suppressed rows with '*' in every quasi-identifier, if they meet the "
        "guarantee as a group of their own.",
        about=TABLES,
    )

    excel_csv: bool = option(
        False,
        help="Write a CSV release that Excel opens by double click: semicolons and a byte order "
        "mark.",
        about=TABLES,
    )
    symmetrize: str = option(
        "none",
        help="Make the release of an undirected graph symmetric: keep edges that either or "
        "both ends show; the result is audited, and often refused.",
        choices=SYMMETRIES,
        about=SETS,
    )

    def __post_init__(self) -> None:
        self.refuse_contradictions()
        if self.symmetrize not in SYMMETRIES:
            raise unknown("symmetry", self.symmetrize, SYMMETRIES, where="[release] symmetrize")
        if self.repeated_people not in REPEATED:
            raise unknown(
                "answer to repeated people",
                str(self.repeated_people),
                REPEATED,
                where="[release] repeated_people",
            )
        if self.pseudonyms is not None and not str(self.pseudonyms).strip():
            raise JobError("pseudonyms: a column needs a name", remedy="State --pseudonyms id.")
        if self.pseudonym_secret and not self.pseudonyms:
            raise JobError(
                "pseudonym_secret: no pseudonyms are asked for",
                remedy="Name their column too: --pseudonyms id.",
            )
        if self.repeated_people == "exclude" and (self.key or self.keep_order):
            raise JobError(
                "a key, or the order of rows, numbers all rows, and repeated people are excluded",
                remedy="Leave --key and --keep-order out, or use --repeated-people compare.",
            )
        for name, example in (
            ("suppression_limit", "0.02 for one row in fifty"),
            ("warn_loss", "0.5"),
        ):
            share = getattr(self, name)
            is_number = isinstance(share, (int, float)) and not isinstance(share, bool)
            if not is_number or not 0 <= share <= 1:
                raise JobError(
                    f"{name} is not a share from 0 to 1",
                    remedy=f"State --{name.replace('_', '-')} {example}.",
                )
        limit = self.suppression_limit
        if self.keep_order and limit > 0 and not self.keep_suppressed:
            raise JobError(
                "keep_order keeps every row in its place, and suppression_limit leaves rows out",
                remedy="Keep them as stars with --keep-suppressed, or drop one of the two.",
            )
