"""Encodings without a byte order mark are believed where the evidence is clear, and only there."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.tables.files import text_encodings
from incrowd.tables.files.text_encodings import detect_encoding

WESTERN = {
    "German": "Name;Ort\nMüller;Köln\nGroß;Düsseldorf\nÄrztin;Österreich\n",
    "French": "nom,âge\nHélène,34\nFrançois,à Nîmes\nŒuvre,où\n",
    "Spanish": "¿Quién?;José Muñoz;Año 1º\nNúñez;Martínez;–\n",
    "Portuguese": "João;São Paulo;coração\nConceição;Fundão;avô\n",
    "Italian": "città;perché;è;più\n",
    "Danish": "Søren;Århus;Ærø\nKøbenhavn;Rødgrød;blåbær\n",
    "Swedish": "Åsa;Malmö;Västerås\n",
    "mostly German": "Müller\nJäger\nSchröder\n" * 20 + "Peña\nFrançois\n",
    "signs": "5 °C;12 µg;3 m²;“quoted”;L’été;10 – 20 €;§ 5\n",
    "a sign": "10 €\n",
}


@pytest.mark.parametrize("name", WESTERN)
def test_western_texts_are_windows_1252(name):
    assert detect_encoding(io.BytesIO(WESTERN[name].encode("cp1252")).read) == "windows-1252"


OTHERS = {
    "Polish": ("Paweł;Łódź;Wałęsa;gęś\nMichał;Kraków\n", "cp1250"),
    "Czech": ("Dvořák;Plzeň;Dušan;Jiří;České Budějovice\n", "cp1250"),
    "Hungarian": ("Erdős;Győr;Szűcs;Kovács;Gömöri;Hőgyész;Tóth\n", "cp1250"),
    "Croatian": ("Ivanišević;Đoković;Šibenik;Čakovec\n", "cp1250"),
    "Romanian": ("Iaşi;Timişoara;Constanţa;Bălţi\n", "cp1250"),
    "Russian": ("Иванов;Москва\n", "cp1251"),
    "Greek": ("Αθήνα;Γιώργος\n", "cp1253"),
    "Turkish": ("Ayşe;İstanbul;Çığ;Doğan;Yıldız\n", "cp1254"),
    "Hebrew": ("שלום;ירושלים\n", "cp1255"),
    "DOS": ("Müller;Köln;Groß\n", "cp850"),
    "Mac": ("Müller;Köln;Groß\n", "mac_roman"),
    "Japanese": ("東京;大阪\n", "shift_jis"),
    "Chinese": ("北京;上海\n", "gb18030"),
    "undefined": ("\x81\x8d", "latin-1"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_texts_are_not_clear(name):
    text, encoding = OTHERS[name]
    assert detect_encoding(io.BytesIO(text.encode(encoding)).read) is None


def test_two_encodings_in_one_file_are_not_clear():
    mixed = "Köln\n".encode() + "Köln\n".encode("cp1252")
    assert detect_encoding(io.BytesIO(mixed).read) is None


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark(encoding):
    text = "name,ort\nMüller,Łódź\nSmith,東\n"
    assert detect_encoding(io.BytesIO(text.encode(encoding)).read) == encoding


def test_zeros_are_not_utf_16():
    assert detect_encoding(io.BytesIO(b"a,b\n1,\x00\n").read) is None
    assert detect_encoding(io.BytesIO(b"\x00\x01" * 50).read) is None


@given(st.text(max_size=60).filter(lambda text: "\0" not in text), st.integers(1, 9))
def test_utf_8_is_utf_8_however_it_is_cut(text, size):
    source = io.BytesIO(text.encode())
    assert detect_encoding(lambda _: source.read(size)) == "utf-8"


@given(st.sampled_from(sorted(WESTERN)), st.integers(1, 9))
def test_pieces_do_not_matter(name, size):
    source = io.BytesIO(WESTERN[name].encode("cp1252"))
    assert detect_encoding(lambda _: source.read(size)) == "windows-1252"


def test_a_large_file_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(text_encodings, "SCANNED_BYTES", 1000)
    source = io.BytesIO(b"a,b\n" * 1_000_000 + b"\xff")
    assert detect_encoding(lambda _: source.read(100)) == "utf-8"
    assert source.tell() <= 1200
