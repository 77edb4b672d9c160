#include "sampling/class_names.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/support/failure_helper.h"
#include "tests/support/memory_dataset.h"

namespace flowtrain::class_names_test {
namespace {

using Texts = std::vector<std::string>;
using Labels = std::vector<std::int32_t>;

std::string difference(const Texts& known, const Texts& classes) {
  return failure_of<std::invalid_argument>([&] { places_among(known, classes); }).what();
}

Texts counted(std::size_t classes) {
  Texts names;
  for (std::size_t i = 0; i < classes; ++i) names.push_back(std::to_string(i));
  return names;
}

TEST_CASE("classes are found by their names, wherever they stand") {
  const Texts known{"cat", "dog", "emu"};
  CHECK(places_among(known, known).labels == Labels{0, 1, 2});
  CHECK(places_among(known, known).lacking.empty());
  const auto some = places_among(known, {"dog", "emu"});
  CHECK(some.labels == Labels{1, 2});
  CHECK(some.lacking == Texts{"cat"});
  CHECK(places_among(known, {"emu", "cat", "dog"}).labels == Labels{2, 0, 1});
}

TEST_CASE("classes that are counted but not named keep their labels") {
  CHECK(places_among(counted(10), counted(8)).labels == Labels{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(places_among(counted(10), counted(8)).lacking == Texts{"8", "9"});
  CHECK(places_among({"cat", "dog", "emu"}, counted(2)).labels == Labels{0, 1});
  // Folders called by numbers are names, sorted as such.
  CHECK(places_among({"0", "1", "10", "2"}, {"0", "1", "2"}).labels == Labels{0, 1, 3});
}

TEST_CASE("labels without names are those of classes that are called by numbers, if they occur") {
  const auto only = [](std::vector<bool> occurring) { return [occurring] { return occurring; }; };
  const auto some = places_among({"1", "2", "x"}, counted(3), only({false, true, true}));
  CHECK(some.labels == Labels{-1, 0, 1});
  CHECK(some.lacking == Texts{"x"});
  CHECK(places_among({"1", "2", "3"}, counted(3), only({false, true, true})).labels == Labels{-1, 0, 1});
  CHECK(places_among({"1", "2", "3"}, counted(4), only({false, true, false, true})).lacking == Texts{"2"});
  CHECK(failure_of<std::invalid_argument>([&] {
          places_among({"1", "2", "x"}, counted(3), only({true, true, true}));
        }).what() == std::string("training does not know the class 0 (its 3 classes: 0, 1, 2; the 3 of training: 1, "
                                 "2, x)"));
  difference({"1", "2", "x"}, counted(3));  // all may occur
  CHECK(places_among({"a", "b", "c"}, counted(3), only({false, true, true})).labels == Labels{0, 1, 2});
}

TEST_CASE("names are not numbered by the alphabet where training's classes have only numbers") {
  CHECK(difference(counted(2), {"cat", "dog"}) ==
        "training does not know the classes cat, dog (its 2 classes: cat, dog; the 2 of training: 0, 1)");
  CHECK(places_among(counted(3), {"1", "2"}).labels == Labels{1, 2});
}

TEST_CASE("classes occur that a record has as its label, or all if labels do not tell") {
  const auto of_labels = [](std::int64_t first, std::int64_t second) {
    return MemoryDataset({pixels_item(1, 1, 1, first), pixels_item(1, 1, 1, second)}, 3);
  };
  CHECK(occurring_classes(of_labels(1, 2)) == std::vector<bool>{false, true, true});
  CHECK(occurring_classes(of_labels(1, -1)) == std::vector<bool>{true, true, true});
}

TEST_CASE("a class that is not known is named, with both lists") {
  CHECK(difference({"cat", "dog"}, {"cat", "cow", "yak"}) ==
        "training does not know the classes cow, yak (its 3 classes: cat, cow, yak; the 2 of training: cat, dog)");
  CHECK(difference({"cat", "dog"}, {"cat", "cow"}).starts_with("training does not know the class cow ("));
  CHECK(difference(counted(3), counted(4)) ==
        "training does not know the class 3 (its 4 classes: 0, 1, 2, 3; the 3 of training: 0, 1, 2)");
  difference({"cat", "dog"}, counted(3));
  difference(counted(3), {"cat", "dog"});  // which of the three, nobody knows
  const auto many = difference(counted(1000), counted(2000));
  CHECK(many.find("0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 1990 more") != std::string::npos);
  CHECK(many.size() < 400);
}

TEST_CASE("a name that stands twice tells no label, unless the lists are the same") {
  const Texts twice{"crane", "maillot", "crane"};
  CHECK(places_among(twice, twice).labels == Labels{0, 1, 2});
  CHECK(places_among(twice, {"maillot"}).labels == Labels{1});
  CHECK(difference(twice, {"crane"}).starts_with("two classes are called 'crane'"));
  CHECK(difference({"crane", "maillot"}, {"crane", "crane"}).starts_with("two classes are called 'crane'"));
}

}  // namespace
}  // namespace flowtrain::class_names_test
