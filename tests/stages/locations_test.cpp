#include "stages/detection/locations.h"

#include <doctest/doctest.h>

namespace flowtrain::locations_test {

TEST_CASE("boxes that are believed in are looked at again, at a scale that fits their size") {
  const std::vector<ScoredBox> boxes{
      {0, 10, 192, 30, 0.9F, 0, 0}, {0, 0, 32, 64, 0.6F, 0, 0}, {4, 4, 36, 12, 0.7F, 0, 0}, {0, 0, 8, 8, 0.5F, 0, 0}};
  const auto locations = reference_locations(boxes);
  REQUIRE(locations.size() == 3);  // a score of 0.5 is not above it
  CHECK(locations[0].y == 20);
  CHECK(locations[0].x == 96);
  CHECK(locations[0].scale == 1);
  CHECK(locations[0].score == 1);
  CHECK(locations[1].scale == 1);
  CHECK(locations[2].scale == 0.75);  // a side of exactly 32 is small
}

TEST_CASE("locations near a better one go, in a row or column too, unless the scale differs") {
  const std::vector<Location> locations{
      {100, 100, 1, 0.5}, {100, 300, 1, 0.9}, {100, 200, 2, 0.8}, {250, 450, 1, 0.7}, {267, 460, 1, 0.6}};
  const auto left = thin_out(locations, 16);
  REQUIRE(left.size() == 3);
  CHECK(left[0].x == 300);  // takes (100, 100), which shares its row
  CHECK(left[1].scale == 2);
  CHECK(left[2].x == 450);  // takes the last: 10 pixels apart in x
}

TEST_CASE("of equal scores the later location comes first") {
  const std::vector<Location> locations{{0, 0, 1, 0.5}, {100, 100, 1, 0.5}};
  const auto left = thin_out(locations, 16);
  REQUIRE(left.size() == 2);
  CHECK(left[0].y == 100);
  CHECK(thin_out({}, 16).empty());
}

}  // namespace flowtrain::locations_test
