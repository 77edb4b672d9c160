// Measures the plans that give batches their shape: padding, filled rows, memory, the time to make a plan of 10^8
// lengths, and the time to reach any batch of any epoch. Lengths are lognormal (mean 200, deviation of the logarithm
// 1); those of paragraphs and of whole texts follow, if files are named.
//
//     build/release/bin/bench_plans [TEXT…]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sampling/core/random.h"
#include "sampling/order.h"
#include "sampling/plans/bucketed_batches.h"
#include "sampling/plans/lengths.h"
#include "sampling/plans/packed_rows.h"
#include "sampling/sampler.h"
#include "tests/support/drawn_lengths.h"
#include "tests/support/temp_folder.h"

using namespace flowtrain;

namespace {

constexpr std::uint64_t budget = 16'384;
constexpr std::uint32_t row_length = 2048;
constexpr std::uint64_t random_positions = 5000;

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Counts the positions of batches, and those of them that records fill.
struct Padding {
  double filled = 0, positions = 0;
  std::uint64_t batches = 0;

  double percent() const { return 100 * (1 - filled / positions); }
};

Padding padding_of(const BucketedBatches& plan, const std::vector<std::uint32_t>& lengths) {
  Padding sum{.batches = plan.batches()};
  std::vector<std::uint64_t> ids;
  for (std::uint64_t number = 0; number < plan.batches(); ++number) {
    sum.positions += static_cast<double>(plan.batch(1, number, ids)) * static_cast<double>(ids.size());
    for (const auto id : ids) sum.filled += lengths[id];
  }
  return sum;
}

/// Takes records in shuffled order into a batch as long as the budget holds them.
Padding padding_of_shuffled(const std::vector<std::uint32_t>& lengths) {
  const Permutation order(lengths.size(), 1);
  Padding sum;
  std::uint64_t rows = 0, longest = 0;
  const auto end_batch = [&] {
    sum.positions += static_cast<double>(rows * longest);
    ++sum.batches;
    rows = longest = 0;
  };
  for (std::uint64_t index = 0; index < lengths.size(); ++index) {
    const std::uint64_t length = lengths[order(index)];
    if (rows > 0 && (rows + 1) * std::max(longest, length) > budget) end_batch();
    ++rows;
    longest = std::max(longest, length);
    sum.filled += static_cast<double>(length);
  }
  end_batch();
  return sum;
}

void print_padding(const std::vector<std::uint32_t>& lengths) {
  const auto shuffled = padding_of_shuffled(lengths);
  std::printf("  padded in shuffled order: %.1f %% of the positions are padding, %zu batches\n", shuffled.percent(),
              shuffled.batches);
  for (const double padding : {0.02, 0.05, 0.1}) {
    const BucketedBatches plan(lengths, {.budget = budget, .padding = padding});
    const auto bucketed = padding_of(plan, lengths);
    std::printf("  bucketed, padding = %.2f: %.2f %%, %zu batches of %zu buckets\n", padding, bucketed.percent(),
                bucketed.batches, plan.buckets());
  }
}

void print_packing(const std::vector<std::uint32_t>& lengths) {
  const PackedRows plan(lengths, {row_length});
  std::printf("  packed: %.2f %% of %zu rows are filled; %zu classes, %zu templates, %.3f bytes a record\n",
              100 * plan.filled(), plan.rows(), plan.classes(), plan.templates(),
              static_cast<double>(plan.bytes()) / static_cast<double>(lengths.size()));
}

/// Prints how long `reach` takes for random positions below `end` of random epochs.
void print_reach(const char* what, std::uint64_t end, const std::function<void(std::uint64_t, std::uint64_t)>& reach) {
  Stream random(7, Purpose::dataset, 0);
  std::vector<double> times(random_positions);
  for (auto& time : times) {
    const auto epoch = random.below(1000), number = random.below(end);
    time = 1e6 * seconds([&] { reach(epoch, number); });
  }
  const double first = times[0];
  std::ranges::sort(times);
  std::printf("  %s at %zu random positions: median %.1f us, 99 %% %.1f us, longest %.1f us, first %.1f us\n", what,
              times.size(), times[times.size() / 2], times[times.size() * 99 / 100], times.back(), first);
}

void print_large(const std::vector<std::uint32_t>& lengths) {
  const auto per_record = [&](std::uint64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(lengths.size());
  };
  double time = 0;
  {
    std::vector<std::uint64_t> ids;
    const auto begin = std::chrono::steady_clock::now();
    const BucketedBatches plan(lengths, {.budget = budget});
    time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("  bucketed: made in %.2f s, %.4f bytes a record\n", time, per_record(plan.bytes()));
    print_reach("a batch", plan.batches(), [&](auto epoch, auto number) { plan.batch(epoch, number, ids); });
  }
  std::vector<PackedPiece> pieces;
  const auto begin = std::chrono::steady_clock::now();
  const PackedRows plan(lengths, {row_length});
  time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("  packed: made in %.2f s, %.4f bytes a record, %.2f %% filled\n", time, per_record(plan.bytes()),
              100 * plan.filled());
  print_reach("a row", plan.rows(), [&](auto epoch, auto index) { plan.row(epoch, index, pieces); });
}

/// Records of known lengths that a read alone tells.
class Measured : public Dataset {
 public:
  explicit Measured(const std::vector<std::uint32_t>& lengths) : lengths_(lengths) {}
  std::uint64_t size() const override { return lengths_.size(); }
  Record read(std::uint64_t id, ReadBuffer&) const override { return {.id = id, .height = lengths_[id]}; }
  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return {}; }
  std::string describe(std::uint64_t id) const override { return std::to_string(id); }

 private:
  const std::vector<std::uint32_t>& lengths_;
};

class HeightSampler : public Sampler {
 public:
  std::vector<Field> fields() const override {
    return {{.name = "tokens", .dtype = DType::i32, .shape = {row_length}, .free_axes = 1}};
  }
  void sample(const Record&, Stream&, Row) const override {}
  void measure(const Record& record, std::span<std::int64_t> extents) const override { extents[0] = record.height; }
};

void print_lengths_file(const std::vector<std::uint32_t>& lengths) {
  const TempFolder folder;
  const Measured dataset(lengths);
  for (const char* what : {"measured and kept", "loaded from the file"}) {
    const double time = seconds([&] { measure(dataset, HeightSampler(), {.folder = folder.path()}); });
    std::printf("  lengths %s: %.2f s\n", what, time);
  }
}

/// Prints the figures for the paragraphs of texts, which empty lines divide, and for whole texts.
void print_texts(const std::vector<std::string>& names) {
  std::vector<std::uint32_t> paragraphs, texts;
  for (const auto& name : names) {
    std::ifstream file(name, std::ios::binary);
    std::uint32_t text = 0, paragraph = 0;
    const auto end_paragraph = [&] {
      if (paragraph > 0) paragraphs.push_back(paragraph);
      paragraph = 0;
    };
    for (std::string line; std::getline(file, line);) {
      text += static_cast<std::uint32_t>(line.size()) + 1;
      if (line.empty())
        end_paragraph();
      else
        paragraph += static_cast<std::uint32_t>(line.size()) + 1;
    }
    end_paragraph();
    if (text > 0) texts.push_back(text);
  }
  for (const auto& [what, lengths] : {std::pair("paragraphs", &paragraphs), {"texts", &texts}}) {
    std::printf("%zu %s of %zu files, lengths in bytes:\n", lengths->size(), what, names.size());
    print_padding(*lengths);
    print_packing(*lengths);
  }
}

}  // namespace

int main(int count, char** names) {
  std::printf("10^6 lognormal lengths, budget %zu, rows of %u:\n", budget, row_length);
  const auto lengths = lognormal_lengths(1'000'000);
  print_padding(lengths);
  print_packing(lengths);
  std::printf("10^6 lengths from 1 to %u alike:\n", row_length);
  print_packing(uniform_lengths(1'000'000, 1, row_length));
  std::printf("10^8 lognormal lengths:\n");
  const auto many = lognormal_lengths(100'000'000);
  print_large(many);
  print_lengths_file(many);
  if (count > 1) print_texts({names + 1, names + count});
}
