#include "sampling/class_names.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/support/failure_helper.h"

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
  CHECK(places_among(counted(2), {"cat", "dog"}).labels == Labels{0, 1});
  // Folders called by numbers are names, sorted as such.
  CHECK(places_among({"0", "1", "10", "2"}, {"0", "1", "2"}).labels == Labels{0, 1, 3});
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
