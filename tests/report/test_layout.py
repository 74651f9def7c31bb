"""Cards in rows: full, in order, and none much higher than its neighbours."""

from hypothesis import given
from hypothesis import strategies as st

from incrowd.report.layout import ALIKE, COLUMNS, UNLIKE, Wish, arrange

wishes = st.lists(
    st.builds(Wish, st.sampled_from([2, 3, 4, 6]), st.floats(50, 900)), min_size=0, max_size=14
)


def rows_of(spans):
    rows, row = [], []
    for span in spans:
        row.append(span)
        if sum(one.columns for one in row) == COLUMNS:
            rows.append(row)
            row = []
    assert row == []
    return rows


@given(wishes)
def test_every_row_is_full(cards):
    spans = arrange(cards)
    assert len(spans) == len(cards)
    rows = rows_of(spans)
    heights = iter(card.height for card in cards)
    for row in rows:
        mine = [next(heights) for _ in row]
        assert min(mine) >= UNLIKE * max(mine)
        assert [span.is_low for span in row] == [one < ALIKE * max(mine) for one in mine]
    assert {span.columns for span in spans} <= {2, 3, 4, 6}


def test_equal_cards_share_rows_evenly():
    def widths(*columns):
        return [span.columns for span in arrange([Wish(width, 100) for width in columns])]

    assert widths(2, 2, 2) == [2, 2, 2]
    assert widths(2, 2, 2, 2) == [3, 3, 3, 3]
    assert widths(2, 2, 2, 2, 2) == [3, 3, 2, 2, 2]
    assert widths(4, 2, 4) == [4, 2, 6]
    assert widths(2) == [6]
    assert widths(3, 2) == [4, 2]


def test_a_low_card_does_not_stand_beside_a_high_one():
    assert [span.columns for span in arrange([Wish(4, 600), Wish(2, 200)])] == [6, 6]
