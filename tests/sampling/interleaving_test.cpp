// Sources take turns: exact in the end, and never far from their shares on the way.

#include "sampling/sources/mixed_order.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

namespace flowtrain::interleaving_test {

namespace {

using Turns = std::vector<std::uint64_t>;

/// Runs through all places; the greatest distance of a source's turns from its share, in any prefix. Turns must be
/// numbered one after the other, and be complete in the end.
double worst_distance(const Turns& turns) {
  const Interleaving interleaving(turns);
  REQUIRE(interleaving.size() == std::accumulate(turns.begin(), turns.end(), std::uint64_t{0}));
  Turns taken(turns.size());
  double worst = 0;
  bool in_order = true;
  for (std::uint64_t place = 0; place < interleaving.size(); ++place) {
    const auto turn = interleaving.at(place);
    in_order = in_order && turn.number == taken[turn.source]++;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const double share =
          static_cast<double>(place + 1) * static_cast<double>(turns[i]) / static_cast<double>(interleaving.size());
      worst = std::max(worst, std::abs(static_cast<double>(taken[i]) - share));
    }
  }
  CHECK(in_order);
  CHECK(taken == turns);
  return worst;
}

}  // namespace

TEST_CASE("every prefix of a sequence of up to four sources is less than one turn from its shares") {
  for (const Turns& turns :
       {Turns{1}, Turns{7}, Turns{1, 1}, Turns{3, 1}, Turns{1, 1000}, Turns{768, 256}, Turns{997, 13}}) {
    CAPTURE(turns.back());
    CHECK(worst_distance(turns) <= 0.5);
  }
  for (const Turns& turns :
       {Turns{1, 1, 1}, Turns{600, 300, 101}, Turns{1, 1000, 1}, Turns{499, 500, 2}, Turns{997, 1, 1, 1},
        Turns{25, 25, 25, 25}, Turns{800, 113, 17, 3}, Turns{500, 250, 125, 125}, Turns{3, 5, 700, 701}}) {
    CAPTURE(turns.front());
    CHECK(worst_distance(turns) < 1);
  }
}

TEST_CASE("with more sources it is not much farther") {
  CHECK(worst_distance({512, 256, 128, 64, 64}) < 1.5);
  CHECK(worst_distance({900, 50, 20, 10, 5, 3, 2, 1}) < 1.5);
  CHECK(worst_distance(Turns(8, 40)) < 1.5);
  CHECK(worst_distance({3000, 100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 5, 4, 3, 2, 1}) < 2);
}

TEST_CASE("any place of a very long sequence is reached at once") {
  const Interleaving interleaving(Turns{6'000'000'000'000'000, 3'000'000'000'000'001, 7});
  CHECK(interleaving.size() == 9'000'000'000'000'008);
  const auto last = interleaving.at(interleaving.size() - 1), middle = interleaving.at(interleaving.size() / 2);
  for (auto& turn : {last, middle}) CHECK(turn.number < 6'000'000'000'000'000);
  CHECK_THROWS(Interleaving(Turns{}));
  CHECK_THROWS(Interleaving(Turns{1, 0}));
}

TEST_CASE("things are shared out by weight, with none left over") {
  using Weights = std::vector<double>;
  CHECK(shared_out(1024, Weights{0.75, 0.25}) == Turns{768, 256});
  CHECK(shared_out(10, Weights{1, 1, 1}) == Turns{4, 3, 3});  // of equal remainders the first
  CHECK(shared_out(3, Weights{0.1, 0.2, 0.7}) == Turns{0, 1, 2});
  CHECK(shared_out(110'000, Weights{60'000, 50'000}) == Turns{60'000, 50'000});
  for (std::uint64_t total = 1; total < 500; ++total)
    for (const Weights& weights :
         {Weights{0.1, 0.2, 0.7}, Weights{1. / 3, 2. / 3}, Weights{1e-9, 1, 1e3, 7}, Weights(10, 0.1)}) {
      const auto shares = shared_out(total, weights);
      REQUIRE(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}) == total);
      const double sum = std::accumulate(weights.begin(), weights.end(), 0.);
      for (std::size_t i = 0; i < weights.size(); ++i)
        CHECK(std::abs(static_cast<double>(shares[i]) - static_cast<double>(total) * weights[i] / sum) < 1 + 1e-9);
    }
}

}  // namespace flowtrain::interleaving_test
