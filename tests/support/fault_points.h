#pragma once
// Accidents are placed at call, byte or step 1, 2, 3 … until none is left. How many of these points a test tries:
//   FLOWTRAIN_POINTS=all  every point: the nightly tier
//   FLOWTRAIN_POINT=N     point N alone, to repeat a failure
//   neither               a sample: each n-th point, the same ones for every commit, as tests/fault_points.txt says
// A test whose points suddenly are fewer no longer reaches what it did, so the table holds the least count, too.

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace flowtrain {

/// The points of one kind of accident.
///
///     FaultPoints points("kills at a call of a save");
///     for (const std::uint64_t point : points.each()) {
///       INFO(points.repeat(point));
///       if (!kill_at(point)) break;  // there is no such call any more
///       points.count();
///     }
///     points.finish();
class FaultPoints {
 public:
  /// The points from `first` to `last`, `step` apart, for a range-based for.
  class Range {
   public:
    struct End {};
    class Iterator {
     public:
      Iterator(std::uint64_t at, std::uint64_t last, std::uint64_t step) : at_(at), last_(last), step_(step) {}
      std::uint64_t operator*() const { return at_; }
      Iterator& operator++() {
        over_ = last_ - at_ < step_;
        at_ += step_;
        return *this;
      }
      bool operator!=(End) const { return !over_ && at_ <= last_; }

     private:
      std::uint64_t at_, last_, step_;
      bool over_ = false;
    };

    Range(std::uint64_t first, std::uint64_t last, std::uint64_t step) : first_(first), last_(last), step_(step) {}
    Iterator begin() const { return {first_, last_, step_}; }
    End end() const { return {}; }

   private:
    std::uint64_t first_, last_, step_;
  };

  /// `what`: a line of tests/fault_points.txt, "<least count of all points> <sample: each n-th> <what>".
  explicit FaultPoints(std::string what);

  /// The points to try, from 1 to `last`. Without `last` the caller breaks at the first point that no longer exists.
  Range each(std::uint64_t last = std::numeric_limits<std::uint64_t>::max()) const;
  /// Whether a loop that numbers the points itself, from 1, tries this one.
  bool includes(std::uint64_t point) const { return only_ ? point == only_ : (point - 1) % stride_ == 0; }
  /// Adds to the points that were tried.
  void count(std::uint64_t more = 1) { tried_ += more; }
  std::uint64_t tried() const { return tried_; }
  /// Returns the least number of points to try.
  std::uint64_t least() const { return only_ ? 1 : least_ / stride_; }
  /// The command that tries `point` of the running test case alone, for INFO(). Without `point`: with an N in its
  /// place.
  std::string repeat(std::uint64_t point) const { return repeat(std::to_string(point)); }
  std::string repeat() const { return repeat("N"); }
  /// Prints how many points were tried. Fewer than the table says, or than its sample, fail the test case.
  void finish() const;

  /// Whether every point is tried, and not a sample.
  static bool all();

 private:
  static std::string repeat(const std::string& point);

  std::string what_;
  std::uint64_t least_ = 0, stride_ = 1, only_ = 0, tried_ = 0;
};

/// TEST_CASE("…" * points_sampled): CTest has the case twice, with a sample of its points and with every one.
inline const doctest::test_suite points_sampled("points");

/// Returns how many times as many random points as usual the tests try: FLOWTRAIN_TIMES in the environment, or 1.
std::uint64_t times();

}  // namespace flowtrain
