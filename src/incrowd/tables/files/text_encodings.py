"""Detect the encoding of text that has no byte order mark, where the evidence is clear.

UTF-8 if it decodes; UTF-16 if every other byte is zero; windows-1252 if all other bytes are letters
and signs as Western European texts have them. Code pages share their bytes, so windows-1252 is
believed only of text that would make no sense in Central European, Cyrillic, Greek, Turkish, DOS or
Mac code pages: letters stand alone or in pairs among ASCII ones, no sign stands within a word, and
nearly all letters are the same in windows-1250 or belong to one Western language.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable

WINDOWS_1252 = "windows-1252"

SCANNED_BYTES = 1 << 28
"""How much of a file the encoding is detected from."""

_PIECE_BYTES = 1 << 22
_LEAST_SHARE = 0.9  # of the letters that one language must have …
_MOST_AMBIGUOUS = 0.05  # … if more than this share is another letter in windows-1250
_LANGUAGES = {
    "German": "äöüß",
    "French": "àâçéèêëîïôûùüÿœæ",
    "Spanish": "áéíóúüñ",
    "Portuguese": "áâãàçéêíóôõúü",
    "Italian": "àèéìíîòóùú",
    "Dutch": "éëïóöüèáí",
    "Swedish, Finnish": "åäöé",
    "Danish, Norwegian": "æøåéòôà",
    "Catalan": "àçéèíïóòúü",
}
_LETTERS = "".join(sorted(set("".join(_LANGUAGES.values()))))
_LETTERS += _LETTERS.upper().replace("SS", "")
_AMBIGUOUS = "".join(
    letter
    for letter in _LETTERS
    if letter.encode("cp1252").decode("cp1250", errors="replace") != letter
)
_APART = "€…‘“”„•™°²µ§£«»¿¡©®ºª½¼¾±×"  # signs that do not stand between two letters
_SIGNS = "’´·–—\xa0" + _APART
_WORD = re.compile(rb"[A-Za-z]*[\x80-\xff][A-Za-z\x80-\xff]*")
# compiled where a text is not ASCII: that takes longer than reading a small file
_WESTERN = f"[A-Za-z{_LETTERS}{_SIGNS}]+"
_SENSELESS = (
    f"[{_LETTERS}]{{3}}|[A-Za-z{_LETTERS}][{_APART}][A-Za-z{_LETTERS}]|[£²ºª½¼¾±][A-Za-z{_LETTERS}]"
)
_MULTIBYTE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)


def detect_encoding(read: Callable[[int], bytes]) -> str | None:
    """Return the encoding of bytes that have no byte order mark; None where it is not clear.

    ``read(size)`` returns the next bytes, none at the end. Looks at ``SCANNED_BYTES`` at most.
    """
    evidence = _Evidence()
    n_bytes = 0
    while n_bytes < SCANNED_BYTES:
        piece = read(_PIECE_BYTES)
        if not n_bytes and b"\0" in piece:
            return _detect_utf_16(piece)
        n_bytes += len(piece)
        evidence.add(piece)
        if not piece or evidence.is_refuted:
            break
    return evidence.verdict()


def _detect_utf_16(head: bytes) -> str | None:
    head = head[: len(head) // 2 * 2]
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    for name, n_zero, n_other in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if n_other == 0 and 2 * n_zero > half:
            text = codecs.getincrementaldecoder(name)("replace").decode(head)
            if all(character.isprintable() or character in "\t\r\n" for character in text):
                return name
    return None


class _Evidence:
    """What the bytes above 127 of a text say about its encoding, piece by piece."""

    def __init__(self) -> None:
        self._utf_8 = codecs.getincrementaldecoder("utf-8")("strict")
        self._is_utf_8 = True
        self._n_multibyte = 0
        self._letters: Counter[str] = Counter()
        self._is_western = True
        self._rest = b""  # what a piece ends with: its neighbours are in the next one

    @property
    def is_refuted(self) -> bool:
        """Whether no encoding is left that could be clear."""
        return not self._is_utf_8 and not self._is_western

    def add(self, piece: bytes) -> None:
        """Look at the next piece; an empty one is the end."""
        if self._is_utf_8:
            try:
                self._utf_8.decode(piece, final=not piece)
            except UnicodeDecodeError:
                self._is_utf_8 = False
        if self._is_western:
            text, self._rest = self._rest + piece, b""
            if piece:  # cut after the last line, so that no word is cut
                end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 or len(text)
                text, self._rest = text[:end], text[end:]
            if not text.isascii():
                self._look_at(text)

    def _look_at(self, text: bytes) -> None:
        western, senseless = re.compile(_WESTERN), re.compile(_SENSELESS)
        self._n_multibyte += len(_MULTIBYTE.findall(text))
        for word, n_times in Counter(_WORD.findall(text)).items():
            decoded = word.decode("cp1252", errors="replace")
            if not western.fullmatch(decoded) or senseless.search(decoded):
                self._is_western = False
                return
            for character in decoded.lower():
                if not character.isascii() and character in _LETTERS:
                    self._letters[character] += n_times

    def verdict(self) -> str | None:
        """Return the encoding, None where it is not clear."""
        if self._is_utf_8:
            return "utf-8"
        if not self._is_western or self._n_multibyte:
            return None
        n_letters = sum(self._letters.values())
        n_ambiguous = sum(self._letters[letter] for letter in _AMBIGUOUS)
        most = max(
            sum(self._letters[letter] for letter in letters) for letters in _LANGUAGES.values()
        )
        is_clear = n_ambiguous <= _MOST_AMBIGUOUS * n_letters or most >= _LEAST_SHARE * n_letters
        return WINDOWS_1252 if is_clear else None
