#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "sampling/core/registry.h"
#include "sampling/samplers/decorators/decorator.h"
#include "sampling/samplers/decorators/guarded_row.h"
#include "tests/support/failure_helper.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::decorators_test {
namespace {

using Values = std::vector<std::pair<std::string, Value>>;

constexpr std::size_t records = 200;

MemoryDataset pictures() {
  std::vector<MemoryDataset::Item> items;
  for (unsigned i = 0; i < records; ++i) items.push_back(pixels_item(8, 8, 1, i % 10, i + 1));
  return MemoryDataset(std::move(items));
}

std::unique_ptr<Sampler> make(const MemoryDataset& dataset, const Values& values) {
  const Key name{"name", Kind::text, std::string("classify"), "the sampler"};
  std::vector<Key> keys{name};
  const auto first = settings_for({name, inner_key()}, {values.begin(), values.begin() + (values.size() > 1 ? 2 : 1)});
  for (auto& key : keys_of_chain(sampler_chain(first))) keys.push_back(key);
  const auto settings = settings_for(keys, values, "sampler");
  return samplers().at(settings.text("name")).make(settings, {dataset});
}

/// A row, or what is wrong with the record.
std::string row_of(const Sampler& sampler, const Dataset& dataset, std::uint64_t id, std::uint64_t position) {
  ReadBuffer buffer;
  Stream random(7, Purpose::sample, position);
  GuardedRow row;
  row.prepare(sampler.fields(), {}, std::byte{0});
  try {
    sampler.sample(dataset.read(id, buffer), random, row.row());
  } catch (const SampleError& error) {
    return error.what();
  }
  std::string bytes;
  for (std::size_t i = 0; i < sampler.fields().size(); ++i)
    bytes.append(reinterpret_cast<const char*>(row.field(i)), sampler.fields()[i].row_bytes());
  return bytes;
}

/// What this test's own sampler does; it states 4 bytes `a` and a f32 `b`.
using Act = std::function<void(const Record&, Stream&, Row)>;

class ActingSampler final : public Sampler {
 public:
  explicit ActingSampler(Act act) : act_(std::move(act)) {}
  std::vector<Field> fields() const override { return {{"a", DType::u8, {2, 2}}, {"b", DType::f32, {}}}; }
  void sample(const Record& record, Stream& random, Row row) const override {
    std::memset(row[0], 1, 4);
    std::memset(row[1], 0, 4);
    act_(record, random, row);
  }

 private:
  Act act_;
};

/// What `check` says of a sampler that does this.
std::string violation_of(Act act) {
  static std::atomic<int> count{0};
  const std::string name = "acting" + std::to_string(count++);
  samplers().add({name, "of a test", {}, [act](const Settings&, const SamplerInput&) {
                    return std::make_unique<ActingSampler>(act);
                  }});
  const auto dataset = pictures();
  const auto sampler = make(dataset, {{"name", "check"}, {"inner", name}});
  const auto failure = failure_of([&] { row_of(*sampler, dataset, 3, 0); });
  CHECK(failure.code() == ExitCode::data);
  const std::string start = "check: sampler '" + name + "', record 3: ", message = failure.what();
  CHECK(message.substr(0, start.size()) == start);
  return message.substr(std::min(start.size(), message.size()));
}

}  // namespace

TEST_CASE("the decorator check names what a sampler does wrong") {
  CHECK(violation_of([](auto&, auto&, Row row) { std::memset(row[0], 1, 5); }) ==
        "it wrote outside of its row: 1 bytes after the end of field 'a'");
  CHECK(violation_of([](auto&, auto&, Row row) { row[1][-3] = std::byte{9}; }) ==
        "it wrote outside of its row: 3 bytes before the start of field 'b'");
  CHECK(violation_of([last = 0](auto&, auto&, Row row) mutable {
          row[0][2] = std::byte(++last);
        }).starts_with("field 'a'[1, 0] is 1, and 2 when made again with the same seed"));
  CHECK(violation_of([times = 0](auto&, auto&, Row) mutable {
          if (++times == 1) throw SampleError("torn");
        }) == "the same seed gave an error (torn), then a row");
}

TEST_CASE("the decorator check sees what is not written") {
  class Lazy final : public Sampler {
   public:
    std::vector<Field> fields() const override { return {{"a", DType::u8, {2, 3}}}; }
    void sample(const Record&, Stream&, Row row) const override { std::memset(row[0], 1, 4); }
  };
  samplers().add(
      {"lazy", "of a test", {}, [](const Settings&, const SamplerInput&) { return std::make_unique<Lazy>(); }});
  const auto dataset = pictures();
  const auto sampler = make(dataset, {{"name", "check"}, {"inner", "lazy"}});
  check_failure(failure_of([&] { row_of(*sampler, dataset, 5, 0); }), ExitCode::data,
                "check: sampler 'lazy', record 5: field 'a'[1, 1] was not written; it must write all of a u8 2x3");
  // One of N samples: the same ones on every run.
  const auto some = make(dataset, {{"name", "check"}, {"inner", "lazy"}, {"check_every", std::int64_t{4}}});
  std::vector<std::uint64_t> caught, again;
  for (auto* list : {&caught, &again})
    for (std::uint64_t i = 0; i < records; ++i) try {
        row_of(*some, dataset, i, i);
      } catch (const UserError&) {
        list->push_back(i);
      }
  CHECK(caught == again);
  CHECK(caught.size() > records / 8);
  CHECK(caught.size() < records / 2);
}

TEST_CASE("decorators leave the rows as they are, also several of them") {
  const auto dataset = pictures();
  const auto plain = make(dataset, {{"name", "classify"}});
  for (const std::string chain : {"check", "slow", "check, slow"}) {
    const auto comma = chain.find(", ");
    const std::string inner = comma == chain.npos ? "classify" : chain.substr(comma + 2) + ", classify";
    const auto decorated = make(dataset, {{"name", chain.substr(0, comma)}, {"inner", inner}});
    for (std::uint64_t id = 0; id < 20; ++id)
      CHECK(row_of(*decorated, dataset, id, id + 5) == row_of(*plain, dataset, id, id + 5));
  }
}

TEST_CASE("the decorator faulty fails for its share, by seed, place and record") {
  const auto dataset = pictures();
  const auto faulty = make(dataset, {{"name", "faulty"}, {"inner", "classify"}, {"faulty_rate", 0.2}});
  const auto plain = make(dataset, {{"name", "classify"}});
  std::size_t failed = 0, saved = 0;
  for (std::uint64_t id = 0; id < records; ++id) {
    const std::string row = row_of(*faulty, dataset, id, id);
    CHECK(row == row_of(*faulty, dataset, id, id));
    if (row == row_of(*plain, dataset, id, id)) continue;
    CHECK(row == "failed on purpose: sampler.faulty_rate = 0.2");
    ++failed;
    saved += row_of(*faulty, dataset, (id + 1) % records, id) != row;  // another record at the same place
  }
  CHECK(failed > records / 10);
  CHECK(failed < records * 3 / 10);
  CHECK(saved > failed / 2);
}

}  // namespace flowtrain::decorators_test
