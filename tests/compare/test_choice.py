"""The front and the recommended point, on points made by hand."""

from incrowd.comparing.grid import (
    Measured,
    Point,
    describe_costs,
    front,
    loss_of,
    recommend,
    varying_fields,
)

HAND_MADE = [
    Measured("a", 2, 0.10, 5.0),
    Measured("b", 2, 0.12, 1.0),
    Measured("c", 2, 0.13, 1.0),  # b is as quick and loses less
    Measured("a", 5, 0.15, 6.0),
    Measured("b", 5, 0.25, 1.0),
    Measured("a", 10, 0.19, 7.0),
    Measured("b", 10, 0.25, 0.9),  # beats b at k 5 in everything
    Measured("a", 50, 0.40, 9.0),
]


def test_the_front_is_what_nothing_beats():
    on_front = zip(HAND_MADE, front(HAND_MADE), strict=True)
    names = [(point.name, point.k) for point, is_on in on_front if is_on]
    assert names == [("a", 2), ("b", 2), ("a", 5), ("a", 10), ("b", 10), ("a", 50)]


def test_equal_points_do_not_beat_each_other():
    twins = [Measured("one", 5, 0.2, 1.0), Measured("two", 5, 0.2, 1.0)]
    assert front(twins) == [True, True]


def chosen(*arguments, **settings):
    point = HAND_MADE[recommend(HAND_MADE, *arguments, **settings).place]
    return point.name, point.k


def test_the_largest_k_within_the_knee_is_recommended():
    assert chosen() == ("a", 10)  # 0.19 is within 0.10 + 0.1, 0.40 is not
    assert recommend(HAND_MADE).reason == (
        "k = 10 by a costs 19%: the largest k that costs at most 10 percentage points more than "
        "k = 2 (10%)."
    )
    assert chosen(knee=0.05) == ("a", 5)
    assert chosen(knee=0.5) == ("a", 50)
    assert chosen(knee=0) == ("a", 2)
    assert "every larger k costs more than 0 percentage" in recommend(HAND_MADE, knee=0).reason


def test_a_stated_k_bounds_the_choice():
    assert chosen(at_least_k=20) == ("a", 50)
    assert recommend(HAND_MADE, at_least_k=20).reason == (
        "k = 50 by a costs 40%: the least of all with a k of at least 20."
    )
    assert chosen(at_least_k=5) == ("a", 5)
    assert recommend(HAND_MADE, at_least_k=51) is None
    assert recommend([]) is None


def test_every_k_has_its_cost_in_a_phrase():
    assert describe_costs(HAND_MADE) == [
        "k = 2 costs 10%",
        "k = 5 costs 15%",
        "k = 10 costs 19%",
        "k = 50 costs 40%",
    ]
    assert describe_costs([Measured("a", 3, 16832.0, 1.0)]) == ["k = 3 costs 16,832"]
    assert describe_costs([Measured("a", 3, 0.00123, 1.0)]) == ["k = 3 costs 0.12%"]


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
