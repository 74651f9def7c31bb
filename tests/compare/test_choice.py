"""The front and the recommended point, on points made by hand."""

from incrowd.comparing.grid import Measured, Point, front, loss_of, recommend, varying_fields

HAND_MADE = [
    Measured("a at k 2", 2, 0.10, 5.0),
    Measured("b at k 2", 2, 0.12, 1.0),
    Measured("c at k 2", 2, 0.13, 1.0),  # b is as quick and loses less
    Measured("a at k 5", 5, 0.15, 6.0),
    Measured("b at k 5", 5, 0.25, 1.0),
    Measured("a at k 10", 10, 0.19, 7.0),
    Measured("b at k 10", 10, 0.25, 0.9),  # beats b at k 5 in everything
    Measured("a at k 50", 50, 0.40, 9.0),
]


def test_the_front_is_what_nothing_beats():
    names = [point.name for point, is_on in zip(HAND_MADE, front(HAND_MADE), strict=True) if is_on]
    assert names == ["a at k 2", "b at k 2", "a at k 5", "a at k 10", "b at k 10", "a at k 50"]


def test_equal_points_do_not_beat_each_other():
    twins = [Measured("one", 5, 0.2, 1.0), Measured("two", 5, 0.2, 1.0)]
    assert front(twins) == [True, True]


def test_the_largest_k_within_the_knee_is_recommended():
    choice = recommend(HAND_MADE)  # 0.19 is within 0.10 + 0.1, 0.40 is not
    assert HAND_MADE[choice.place].name == "a at k 10"
    assert "0.1900 against 0.1000" in choice.reason
    assert choice.reason.count(".") == choice.reason.count("0.") + 1  # one sentence
    assert HAND_MADE[recommend(HAND_MADE, knee=0.05).place].name == "a at k 5"
    assert HAND_MADE[recommend(HAND_MADE, knee=0.5).place].name == "a at k 50"
    assert HAND_MADE[recommend(HAND_MADE, knee=0).place].name == "a at k 2"


def test_a_stated_k_bounds_the_choice():
    choice = recommend(HAND_MADE, at_least_k=20)
    assert HAND_MADE[choice.place].name == "a at k 50"
    assert "at least 20" in choice.reason
    assert HAND_MADE[recommend(HAND_MADE, at_least_k=5).place].name == "a at k 5"
    assert recommend(HAND_MADE, at_least_k=51) is None
    assert recommend([]) is None


def test_of_equal_losses_the_larger_k_then_the_quicker_counts():
    points = [
        Measured("slow", 5, 0.2, 3.0),
        Measured("quick", 5, 0.2, 1.0),
        Measured("larger", 9, 0.2, 8.0),
    ]
    assert points[recommend(points, at_least_k=2).place].name == "larger"
    assert points[recommend(points[:2], at_least_k=2).place].name == "quick"
    assert "only k" in recommend(points[:2]).reason


def test_losses_of_which_more_is_better_are_turned_round():
    assert loss_of({"jaccard": 0.7}, None, "jaccard") == 1 - 0.7
    assert loss_of({"loss": 0.7}, None, "loss") == 0.7
    assert loss_of({"loss": 0.7}, 0.2, "are") == 0.2
    assert loss_of({}, 0.2, "loss") is None


def test_points_are_named_by_what_varies():
    points = [
        Point(2, "cluster", "loss", "quick", 0.0),
        Point(2, "cluster", "loss", "auto", 0.0),
        Point(5, "mondrian", "ncp", None, 0.0),
    ]
    assert varying_fields(points) == ["effort"]
    assert points[0].label(["effort"]) == "cluster, effort quick"
    assert points[2].label(["effort"]) == "mondrian"
    assert points[0].key == "k=2 method=cluster metric=loss effort=quick suppression_limit=0.0"
