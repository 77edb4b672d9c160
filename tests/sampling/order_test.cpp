#include "sampling/order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sampling/core/registry.h"
#include "sampling/sources/hold_out.h"
#include "tests/support/failure_helper.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::order_test {

namespace {

const std::vector<std::uint64_t> odd_sizes{1, 2, 3, 5, 13, 100, 1000, 1023, 1025};

/// Records that have nothing but a class: those of `labels`, over and over.
class Labelled : public Dataset {
 public:
  Labelled(std::uint64_t size, std::vector<std::int64_t> labels = {-1}) : size_(size), labels_(std::move(labels)) {}
  std::uint64_t size() const override { return size_; }
  Record read(std::uint64_t id, ReadBuffer&) const override { return {.id = id, .label = label(id)}; }
  std::int64_t label(std::uint64_t id) const override { return labels_[id % labels_.size()]; }
  std::vector<std::string> classes() const override {
    return std::vector<std::string>(static_cast<std::size_t>(std::ranges::max(labels_) + 1), "class");
  }
  std::string describe(std::uint64_t id) const override { return std::to_string(id); }

 private:
  std::uint64_t size_;
  std::vector<std::int64_t> labels_;
};

std::unique_ptr<Order> make(const std::string& name, const Dataset& dataset, std::uint64_t seed,
                            const std::vector<std::pair<std::string, Value>>& values = {}) {
  const auto& entry = orders().at(name);
  return entry.make(settings_for(entry.keys, values, "order"), {dataset, seed});
}

std::vector<std::uint64_t> epoch_of(const Order& order, std::uint64_t epoch) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t index = 0; index < order.size(); ++index) ids.push_back(order.at(epoch, index));
  return ids;
}

bool is_permutation_of_all(std::vector<std::uint64_t> ids) {
  std::ranges::sort(ids);
  for (std::uint64_t id = 0; id < ids.size(); ++id)
    if (ids[id] != id) return false;
  return true;
}

/// How far counts lie from their expectations, in standard deviations of the chi-square distribution.
double surprise(const std::vector<double>& counts, const std::vector<double>& expected) {
  double chi_square = 0, freedom = -1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (expected[i] == 0) {
      REQUIRE(counts[i] == 0);
      continue;
    }
    chi_square += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
    ++freedom;
  }
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

}  // namespace

TEST_CASE("a permutation is exact, and its inverse undoes it") {
  for (const auto n : odd_sizes)
    for (const std::uint64_t key : {0ULL, 1ULL, ~0ULL}) {
      const Permutation permutation(n, key);
      std::vector<std::uint64_t> images;
      for (std::uint64_t x = 0; x < n; ++x) {
        images.push_back(permutation(x));
        REQUIRE(permutation.inverse(images.back()) == x);
      }
      CHECK_MESSAGE(is_permutation_of_all(images), n);
    }
  CHECK_THROWS_AS(Permutation(0, 1), InternalError);
}

TEST_CASE("a permutation of 10^10 or 2^64 - 1 points works at once") {
  for (const std::uint64_t n : {10'000'000'000ULL, ~0ULL}) {
    const Permutation permutation(n, 7);
    for (const std::uint64_t x : {std::uint64_t{0}, std::uint64_t{1}, n / 2, n - 1}) {
      CHECK(permutation(x) < n);
      CHECK(permutation.inverse(permutation(x)) == x);
    }
  }
}

TEST_CASE("over many keys every point goes everywhere equally often, and so does every pair") {
  const int keys = 50'000;
  for (const std::uint64_t n : {3, 5, 13, 100}) {
    std::vector<double> first(n), last(n), pairs(n * n);
    for (int key = 0; key < keys; ++key) {
      const Permutation permutation(n, static_cast<std::uint64_t>(key));
      ++first[permutation(0)];
      ++last[permutation(n - 1)];
      ++pairs[permutation(0) * n + permutation(1)];
    }
    const std::vector<double> expected(n, keys / static_cast<double>(n));
    std::vector<double> expected_pairs(n * n, keys / static_cast<double>(n * (n - 1)));
    for (std::uint64_t i = 0; i < n; ++i) expected_pairs[i * n + i] = 0;
    CHECK(surprise(first, expected) < 4);
    CHECK(surprise(last, expected) < 4);
    CHECK(surprise(pairs, expected_pairs) < 4);
  }
}

TEST_CASE("neighbours in a permutation are unrelated") {
  const std::uint64_t n = 60'000, bins = 16;
  for (const std::uint64_t lag : {1, 2, 64, 256}) {
    const Permutation permutation(n, lag);
    std::vector<double> counts(bins * bins);
    for (std::uint64_t x = 0; x + lag < n; ++x)
      ++counts[permutation(x) * bins / n * bins + permutation(x + lag) * bins / n];
    const std::vector<double> expected(bins * bins, static_cast<double>(n - lag) / (bins * bins));
    CHECK(std::abs(surprise(counts, expected)) < 4);
  }
}

TEST_CASE("sequential keeps the stored order") {
  const Labelled dataset(5);
  CHECK(epoch_of(*make("sequential", dataset, 1), 3) == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
  CHECK(epoch_of(*make("sequential", dataset, 1, {{"first", std::int64_t{2}}}), 3) == std::vector<std::uint64_t>{0, 1});
}

TEST_CASE("shuffles hold every record once an epoch; seed and epoch decide how") {
  for (const std::string name : {"shuffle", "block_shuffle"}) {
    for (const auto n : odd_sizes) {
      const Labelled dataset(n);
      const auto order = make(name, dataset, 1);
      REQUIRE(order->size() == n);
      for (const std::uint64_t epoch : {0, 1, 2, 1000}) CHECK(is_permutation_of_all(epoch_of(*order, epoch)));
      CHECK(epoch_of(*order, 1) == epoch_of(*make(name, dataset, 1), 1));
      if (n < 100) continue;
      CHECK(epoch_of(*order, 0) != epoch_of(*order, 1));
      CHECK(epoch_of(*order, 0) != epoch_of(*make(name, dataset, 2), 0));
      CHECK(epoch_of(*order, 1) != epoch_of(*make(name, dataset, 0), 2));
    }
    const Labelled vast(10'000'000'000);
    const auto order = make(name, vast, 1);
    CHECK(order->at(1'000'000, vast.size() - 1) < vast.size());
  }
}

TEST_CASE("block_shuffle is exact for every block, window and rest") {
  for (const std::uint64_t n : {1, 7, 64, 97})
    for (const std::int64_t block : {1, 2, 5, 16, 97, 200})
      for (const std::int64_t window : {1, 2, 3, 50}) {
        const Labelled dataset(n);
        const auto order = make("block_shuffle", dataset, 9, {{"block", block}, {"mixed_blocks", window}});
        for (std::uint64_t epoch = 0; epoch < 6; ++epoch) REQUIRE(is_permutation_of_all(epoch_of(*order, epoch)));
      }
}

TEST_CASE("block_shuffle reads no more than `mixed_blocks` blocks at a time") {
  const std::uint64_t block = 10, window = 3;
  const Labelled dataset(1000);
  const auto ids = epoch_of(*make("block_shuffle", dataset, 4, {{"block", 10}, {"mixed_blocks", 3}}), 0);
  for (std::size_t first = 0; first < ids.size(); first += block * window) {
    std::vector<std::uint64_t> blocks;
    for (auto i = first; i < std::min(ids.size(), first + block * window); ++i) blocks.push_back(ids[i] / block);
    if (blocks.size() > block) CHECK(!std::ranges::is_sorted(blocks));
    std::ranges::sort(blocks);
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    CHECK(blocks.size() <= window);
  }
}

TEST_CASE("class_balanced: every class equally often, every member equally often") {
  // 103 records: class 0 has four times as many as class 2, class 1 has none, some have no class.
  const Labelled dataset(103, {0, 0, 2, 0, 3, 3, -1, 0});
  const auto order = make("class_balanced", dataset, 5);
  std::vector<std::uint64_t> visits(103), total(4);
  const std::uint64_t epochs = 12;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    std::vector<std::uint64_t> per_class(4);
    for (const auto id : epoch_of(*order, epoch)) {
      REQUIRE(dataset.label(id) >= 0);
      ++per_class[static_cast<std::size_t>(dataset.label(id))];
      ++visits[id];
    }
    CHECK(per_class[1] == 0);
    for (const int label : {0, 2, 3}) {
      CHECK(per_class[label] >= 34);
      CHECK(per_class[label] <= 35);
      total[label] += per_class[label];
    }
  }
  for (const int label : {0, 2, 3}) {
    CHECK(total[label] == 103 * epochs / 3);
    std::uint64_t least = ~0ULL, most = 0;
    for (std::uint64_t id = 0; id < 103; ++id)
      if (dataset.label(id) == label) {
        least = std::min(least, visits[id]);
        most = std::max(most, visits[id]);
      }
    CHECK(most - least <= 1);
  }
  CHECK(epoch_of(*order, 0) != epoch_of(*order, 1));
  CHECK(epoch_of(*order, 0) != epoch_of(*make("class_balanced", dataset, 6), 0));
}

TEST_CASE("class_balanced wants labels") {
  const Labelled dataset(5);
  try {
    make("class_balanced", dataset, 1);
    FAIL("no error");
  } catch (const UserError& error) {
    CHECK(error.what() == std::string("order.name: class_balanced needs labels, and this data set has none"));
    CHECK(error.code() == ExitCode::data);
  }
}

TEST_CASE("weighted by class draws in proportion") {
  const Labelled dataset(400, {0, 1, 2, -1});
  const auto order = make("weighted", dataset, 3, {{"weights", std::vector<double>{1, 0, 3}}});
  CHECK(order->size() == 400);
  std::vector<double> counts(3);
  const int epochs = 50;
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (const auto id : epoch_of(*order, epoch)) {
      REQUIRE(dataset.label(id) >= 0);
      ++counts[static_cast<std::size_t>(dataset.label(id))];
    }
  CHECK(surprise(counts, {400.0 * epochs / 4, 0, 400.0 * epochs * 3 / 4}) < 4);
  CHECK(epoch_of(*order, 0) != epoch_of(*order, 1));
  CHECK(epoch_of(*order, 0) == epoch_of(*make("weighted", dataset, 3, {{"weights", std::vector<double>{1, 0, 3}}}), 0));
}

TEST_CASE("weighted by file draws in proportion, at any scale") {
  const TempFolder folder;
  const Labelled dataset(4);
  for (const std::string text : {"1\n0\n2.5\n0.5\n", "4e307\n0\n1e308\r\n2e307", "4e-320\n 0 \n1e-319\n2e-320\n"}) {
    const auto file = folder.write("weights.txt", text);
    const auto order = make("weighted", dataset, 3, {{"weights_file", file.string()}});
    std::vector<double> counts(4);
    for (std::uint64_t epoch = 0; epoch < 10'000; ++epoch)
      for (const auto id : epoch_of(*order, epoch)) ++counts[id];
    CHECK(surprise(counts, {10'000, 0, 25'000, 5'000}) < 4);
  }
}

TEST_CASE("weighted by file has a weight of each record, also of those that are held out") {
  const TempFolder folder;
  const SubsetDataset dataset(std::make_unique<Labelled>(5), {1, 3, 4});
  const auto order_of = [&](const std::string& text) {
    return make("weighted", dataset, 3, {{"weights_file", folder.write("w.txt", text).string()}});
  };
  const auto order = order_of("9\n0\n9\n1\n0\n");
  CHECK(order->size() == 3);
  for (const auto id : epoch_of(*order, 0)) CHECK(id == 1);
  CHECK(std::string(failure_of([&] { order_of("1\n1\n1\n"); }).what()) ==
        (folder.path() / "w.txt").string() +
            ": 3 weights for 5 records, of which 3 are trained on: those held out have weights, too");
}

TEST_CASE("weighted refuses weights that do not fit") {
  const TempFolder folder;
  const Labelled dataset(4, {0, 1});
  const auto refusal = [&](const std::vector<std::pair<std::string, Value>>& values) -> std::string {
    try {
      make("weighted", dataset, 1, values);
    } catch (const UserError& error) {
      return std::to_string(static_cast<int>(error.code())) + " " + error.what();
    }
    return "no error";
  };
  const auto with_file = [&](const std::string& text) {
    return refusal({{"weights_file", folder.write("w.txt", text).string()}});
  };
  const auto path = (folder.path() / "w.txt").string();
  CHECK(refusal({}) == "2 order.weights: neither this nor order.weights_file is given");
  CHECK(refusal({{"weights", std::vector<double>{1, 2}}, {"weights_file", "x"}}) ==
        "2 test.toml:1:1: order.weights_file: order.weights is also given");
  CHECK(refusal({{"weights", std::vector<double>{1}}}) == "2 test.toml:1:1: order.weights: 1 weights for 2 classes");
  CHECK(refusal({{"weights", std::vector<double>{0, 0}}}) ==
        "2 test.toml:1:1: order.weights: no record has a weight above 0");
  CHECK(refusal({{"weights_file", path + "x"}}) == "3 test.toml:1:1: order.weights_file: cannot read " + path + "x");
  CHECK(with_file("1\n2\n") == "3 " + path + ": 2 weights for 4 records");
  CHECK(with_file("1\n2\n3\n4\n5\n6\n") == "3 " + path + ": more than 4 weights for 4 records");
  CHECK(with_file("1\nno\n3\n4\n") == "3 " + path + ":2: expected a number that is not negative, got 'no'");
  for (const std::string bad : {"-1", "nan", "inf", "1 2", ""})
    CHECK(with_file("1\n2\n" + bad + "\n4\n").starts_with("3 " + path + ":3: expected"));
}

TEST_CASE("a batch at once holds what its positions hold one by one") {
  const Labelled dataset(700, {0, 1, 2});
  for (const std::string name : {"sequential", "shuffle", "class_balanced", "block_shuffle"}) {
    CAPTURE(name);
    const auto order = make(name, dataset, 3);
    for (std::uint64_t epoch : {0, 5}) {
      const auto all = epoch_of(*order, epoch);
      std::vector<std::uint64_t> batch(91);
      order->fill(epoch, 37, batch);
      CHECK(std::equal(batch.begin(), batch.end(), all.begin() + 37));
    }
  }
}

TEST_CASE("no order can be made of nothing") {
  const Labelled empty(0);
  for (const auto& name : orders().names())
    CHECK_THROWS_WITH_AS(make(name, empty, 1), "the data set is empty", UserError);
}

TEST_CASE("an unknown order is refused with the known ones") {
  try {
    orders().at("shufle");
    FAIL("no error");
  } catch (const UserError& error) {
    CHECK(error.what() == std::string("no order is called 'shufle'"));
    CHECK(error.hint() ==
          "did you mean 'shuffle'? known: block_shuffle, class_balanced, sequential, shuffle, weighted");
  }
}

}  // namespace flowtrain::order_test
