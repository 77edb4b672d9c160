#include "sampling/plans/lengths.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>

#include "sampling/core/error.h"
#include "sampling/core/warning.h"
#include "sampling/sampler.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::lengths_test {
namespace {

namespace fs = std::filesystem;

/// Record i is i % 50 bytes long, and has a height of i; `outlined` of them are known without a read.
class Texts : public Dataset {
 public:
  explicit Texts(std::uint64_t size, std::uint64_t outlined = 0, std::uint64_t version = 1)
      : size_(size), outlined_(outlined), version_(version) {}

  std::uint64_t size() const override { return size_; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    ++reads;
    if (id % 100 == 99) throw SampleError("damaged");
    buffer.bytes.assign(id % 50, std::byte{'x'});
    return {.id = id, .encoding = Encoding::text, .bytes = buffer.bytes, .height = static_cast<std::uint32_t>(id)};
  }
  bool outline(std::uint64_t id, Record& record, ReadBuffer&) const override {
    if (id >= outlined_) return false;
    if (id % 100 == 99) throw SampleError("damaged");
    record = {.id = id, .height = static_cast<std::uint32_t>(id), .width = static_cast<std::uint32_t>(id % 50)};
    return true;
  }
  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return {}; }
  std::string describe(std::uint64_t id) const override { return std::to_string(id); }
  std::uint64_t fingerprint() const override {
    ++hashes;
    return version_;
  }

  mutable std::atomic<std::uint64_t> reads = 0, hashes = 0;

 private:
  std::uint64_t size_, outlined_, version_;
};

/// The first axis is a record's length, the second one its height; record `wrong` ends everything.
class TwoAxes : public Sampler {
 public:
  explicit TwoAxes(std::uint64_t wrong = ~0ull) : wrong_(wrong) {}
  std::vector<Field> fields() const override {
    return {{.name = "tokens", .dtype = DType::u8, .shape = {50}, .free_axes = 1},
            {.name = "label", .dtype = DType::i64, .shape = {}},
            {.name = "more", .dtype = DType::u8, .shape = {50, 2}, .free_axes = 1}};
  }
  void sample(const Record&, Stream&, Row) const override {}
  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    if (record.id == wrong_) throw UserError(ExitCode::data, "the disk is gone");
    extents[0] = static_cast<std::int64_t>(record.bytes.size() + record.width);
    extents[1] = record.height == 7 ? std::int64_t{1} << 40 : record.height;
  }

 private:
  std::uint64_t wrong_;
};

const TwoAxes sampler;

/// Returns the median of those that are not damaged, the greater one of two.
std::uint32_t median_of_whole(std::uint64_t records, std::uint64_t period) {
  std::vector<std::uint32_t> whole;
  for (std::uint64_t id = 0; id < records; ++id)
    if (id % 100 != 99) whole.push_back(static_cast<std::uint32_t>(id % period));
  std::ranges::sort(whole);
  return whole.empty() ? 0 : whole[whole.size() / 2];
}

/// Checks the lengths of `records` records along the first axis.
void check_lengths(std::span<const std::uint32_t> lengths, std::uint64_t records) {
  REQUIRE(lengths.size() == records);
  const auto median = median_of_whole(records, 50);
  for (std::uint64_t id = 0; id < records; ++id) REQUIRE(lengths[id] == (id % 100 == 99 ? median : id % 50));
}

std::vector<fs::path> files_of(const fs::path& folder) {
  return {fs::directory_iterator(folder), fs::directory_iterator()};
}

TEST_CASE("lengths: each record is measured, from its outline if there is one, a damaged one has their median") {
  for (const std::uint64_t records : {0, 1, 63, 64, 65, 1000})
    for (const std::uint64_t outlined : {0, 40, 1000})
      for (const unsigned threads : {0, 1, 3}) {
        const Texts texts(records, outlined);
        const auto lengths = measure(texts, sampler, {.threads = threads});
        check_lengths(lengths.axis(), records);
        CHECK(lengths.records_read == records - std::min(records, outlined));
        CHECK(texts.reads == lengths.records_read);
      }
}

TEST_CASE("lengths: the axes that are asked for are kept, up to what 32 bits hold") {
  const Texts texts(300);
  const auto lengths = measure(texts, sampler, {.axes = {1, 0}});
  REQUIRE(lengths.axes() == 2);
  check_lengths(lengths.axis(1), 300);
  for (std::uint64_t id = 0; id < 300; ++id)  // of 297 whole ones 148 are less than 150
    REQUIRE(lengths.axis(0)[id] == (id % 100 == 99 ? 150 : id == 7 ? ~0u : id));
  CHECK_THROWS_AS(measure(texts, sampler, {.axes = {2}}), InternalError);
}

TEST_CASE("lengths: progress is told up to the end, and may stop the measuring") {
  const Texts texts(10'000);
  std::vector<std::uint64_t> told;
  measure(texts, sampler, {.threads = 2, .progress = [&](std::uint64_t done, std::uint64_t all) {
                             told.push_back(done);
                             CHECK(all == 10'000);
                           }});
  REQUIRE(!told.empty());
  CHECK(std::ranges::is_sorted(told));
  CHECK(told.back() == 10'000);
  CHECK(std::ranges::count(told, 10'000) == 1);
  const auto stop = [](std::uint64_t, std::uint64_t) { throw UserError(ExitCode::ok, "stopped"); };
  CHECK_THROWS_AS(measure(texts, sampler, {.threads = 1, .progress = stop}), UserError);
  CHECK(texts.reads < 20'000);
}

TEST_CASE("lengths: an error that is not one record's ends the measuring") {
  const Texts texts(10'000);
  for (const unsigned threads : {1, 4}) CHECK_THROWS_AS(measure(texts, TwoAxes(5000), {.threads = threads}), UserError);
}

TEST_CASE("lengths: what was read is kept, and read no more until data or settings change") {
  TempFolder temp;
  const auto folder = temp.path() / "cache" / "lengths";
  const auto reads = [&](const Texts& texts, const std::string& settings, std::vector<std::size_t> axes = {0}) {
    const auto lengths = measure(texts, sampler, {.axes = axes, .folder = folder, .settings = settings});
    if (axes[0] == 0) check_lengths(lengths.axis(), texts.size());
    return lengths.records_read;
  };
  const Texts texts(500);
  CHECK(reads(texts, "byte") == 500);
  CHECK(reads(texts, "byte") == 0);
  CHECK(reads(texts, "word") == 500);
  CHECK(reads(texts, "byte", {1}) == 500);
  CHECK(reads(texts, "byte", {0, 1}) == 500);
  CHECK(reads(Texts(500, 0, 2), "byte") == 500);
  CHECK(reads(Texts(501, 0, 1), "byte") == 501);
  CHECK(reads(texts, "byte") == 0);
  CHECK(texts.reads == 2000 + 2 * 16);  // lengths that are taken from the file are compared with 16 records
  const auto files = files_of(folder).size();
  const Texts outlined(500, 500, 3);
  CHECK(reads(outlined, "byte") == 0);  // no read was needed: there is nothing to keep, nor to look up
  CHECK(outlined.hashes == 0);
  CHECK(files_of(folder).size() == files);
}

TEST_CASE("lengths: all records are measured anew if one of those that are compared has another length") {
  class Longer : public Texts {
   public:
    using Texts::Texts;
    Record read(std::uint64_t id, ReadBuffer& buffer) const override {
      Record record = Texts::read(id, buffer);
      buffer.bytes.push_back(std::byte{'x'});
      record.bytes = buffer.bytes;
      return record;
    }
  };
  TempFolder temp;
  const MeasureOptions options{.folder = temp.path(), .settings = "byte"};
  measure(Texts(500), sampler, options);
  const Longer longer(500);
  const auto lengths = measure(longer, sampler, options);
  CHECK(lengths.records_read == 500);
  CHECK(lengths.axis()[20] == 21);
  CHECK(measure(longer, sampler, options).records_read == 0);
}

TEST_CASE("lengths: a damaged file is made anew") {
  TempFolder temp;
  const Texts texts(4);
  const MeasureOptions options{.folder = temp.path(), .settings = "byte", .threads = 1};
  measure(texts, sampler, options);
  REQUIRE(files_of(temp.path()).size() == 1);
  const auto name = files_of(temp.path())[0].filename().string();
  std::ifstream stream(temp.path() / name, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(stream), {}};
  const auto check_anew = [&](const std::string& bytes, std::uint64_t reads) {
    temp.write(name, bytes);
    const auto lengths = measure(texts, sampler, options);
    CHECK(lengths.records_read == reads);
    check_lengths(lengths.axis(), 4);
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    check_anew(damaged, 4);
    if (i % 5 == 0) check_anew(whole.substr(0, i), 4);
  }
  check_anew(whole + "x", 4);
  check_anew(whole, 0);
}

TEST_CASE("lengths: a file that cannot be written is a warning") {
  TempFolder temp;
  temp.write("in-the-way", "");
  static std::string warning;
  set_warning_sink([](const std::string& text) { warning = text; });
  const Texts texts(20);
  for (int start = 0; start < 2; ++start) {
    warning.clear();
    CHECK(measure(texts, sampler, {.folder = temp.path() / "in-the-way"}).records_read == 20);
    CHECK(warning.find("in-the-way") != std::string::npos);
  }
  set_warning_sink(nullptr);
}

}  // namespace
}  // namespace flowtrain::lengths_test
