// Batches of groups: labelled pictures, unlabelled pictures of another size, and lists of tokens, each at its own rate.

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/loader/data_loader.h"
#include "pipeline/engine/session/assembly.h"
#include "sampling/codecs/encode.h"
#include "sampling/core/text.h"
#include "sampling/field_text.h"
#include "tests/pipeline/engine/plans/each_slab.h"
#include "tests/support/failure_helper.h"
#include "tests/support/pictures.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::groups_test {

namespace {

constexpr std::uint64_t labelled = 37, unlabelled = 50, texts = 9, rows = 14;
const std::vector<std::uint32_t> rows_of_group{4, 8, 2};

std::string fields_of_groups() {
  return "[[field]]\nname = \"image\"\nas = \"image\"\nsize = 12\nsource = \"labelled\"\n"
         "[[field]]\nname = \"label\"\nas = \"label\"\nsource = \"labelled\"\n"
         "[[field]]\nname = \"image\"\nas = \"image\"\nsize = 20\nsource = \"unlabelled\"\n"
         "[[field]]\nname = \"tokens\"\nfrom = \"tokens\"\nas = \"array\"\nmax = [40]\nsource = \"text\"\n";
}

/// Files of three sources; picture 7 is damaged.
struct Files {
  Files() {
    std::string pictures = "image\n", tokens;
    for (std::uint64_t i = 0; i < unlabelled; ++i) {
      const Image image = noise_picture(24 + static_cast<int>(i % 5), 24, 3);
      const auto png =
          encode_png({image.pixels.data(), image.height, image.width, 3, static_cast<std::size_t>(image.width) * 3});
      const std::string name = concat(i, ".png");
      folder.write(name, i == 7 ? "no picture" : std::string(reinterpret_cast<const char*>(png.data()), png.size()));
      pictures += name + "\n";
    }
    for (std::uint64_t i = 0; i < texts; ++i) {
      tokens += "{\"tokens\": [" + std::to_string(i);
      for (std::uint64_t n = 0; n < i * 7 % 30; ++n) tokens += ", " + std::to_string(100 * i + n);
      tokens += "]}\n";
    }
    folder.write("pictures.csv", pictures);
    folder.write("tokens.jsonl", tokens);
  }

  Config config(const std::string& more = {}, const std::string& fields = fields_of_groups()) const {
    return load_config(folder.write(
        "c.toml", "[run]\nseed = 3\n[val]\nevery = 0\n[loader]\nworkers = 2\n" + more +
                      "\n[[data.source]]\nname = \"labelled\"\ndataset = \"shapes\"\nsamples = 37\nrows = 4\n"
                      "[[data.source]]\nname = \"unlabelled\"\ndataset = \"manifest\"\npath = \"" +
                      (folder.path() / "pictures.csv").string() +
                      "\"\nrows = 8\n[[data.source]]\nname = \"text\"\ndataset = \"manifest\"\npath = \"" +
                      (folder.path() / "tokens.jsonl").string() + "\"\nrows = 2\n" + fields));
  }

  TempFolder folder;
};

/// A row as it was delivered, by its position.
struct Delivered {
  std::uint64_t id;
  std::uint32_t group;
  std::string bytes;  ///< all fields
  bool operator==(const Delivered&) const = default;
};
using DeliveredBatches = std::vector<std::map<std::uint64_t, Delivered>>;

void append(const Slab& slab, std::map<std::uint64_t, Delivered>& to) {
  for (auto& row : slab.rows()) {
    Delivered one{row.id, row.place.group, {}};
    for (std::size_t i = 0; i < slab.layout().fields().size(); ++i) {
      const auto bytes = slab.bytes_of(row, i);
      CHECK(bytes.empty() == (slab.layout().fields()[i].group != row.place.group));
      one.bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    CHECK(to.emplace(row.position, std::move(one)).second);
  }
}

/// Returns what all processes of a world deliver together, batch by batch.
DeliveredBatches deliver(const Config& config, std::uint64_t first, std::uint64_t last, unsigned workers = 2,
                         std::uint64_t world = 1) {
  DeliveredBatches all(last - first + 1);
  flowtrain::testing::for_each_slab(config, first, last, workers, world,
                                    [&](std::size_t batch, const Slab& slab) { append(slab, all.at(batch)); });
  return all;
}

}  // namespace

TEST_CASE("batches of groups are the same at any number of workers and processes, and from any batch on") {
  const Scheduler scheduler(8);
  const Files files;
  const Config config = files.config();
  constexpr std::uint64_t last = 25;
  const auto expected = deliver(config, 1, last);
  for (const unsigned workers : {1u, 4u}) CHECK(deliver(config, 1, last, workers) == expected);
  for (const std::uint64_t world : {2, 3, 7}) CHECK(deliver(config, 1, last, 2, world) == expected);
  for (const std::uint64_t first : {2, 11, 25})
    for (const std::uint64_t world : {1, 3})
      CHECK(deliver(config, first, last, 2, world) ==
            DeliveredBatches(expected.begin() + static_cast<std::ptrdiff_t>(first) - 1, expected.end()));
}

TEST_CASE(
    "each batch has the rows of each group, whose records come in turn, and a damaged one is replaced by its like") {
  const Scheduler scheduler(8);
  const Files files;
  const auto batches = deliver(files.config(), 1, 20);
  std::vector<std::vector<std::uint64_t>> seen(3);
  for (auto& batch : batches) {
    std::vector<std::uint32_t> counts(3);
    for (auto& [position, row] : batch) {
      ++counts[row.group];
      seen[row.group].push_back(row.id);
    }
    CHECK(counts == rows_of_group);
  }
  CHECK(batches.front().begin()->first == 0);
  CHECK(batches.back().rbegin()->first == 20 * rows - 1);
  std::uint64_t first = 0;
  for (std::size_t group = 0; const std::uint64_t size : {labelled, unlabelled, texts}) {
    CAPTURE(group);
    for (const auto id : seen[group]) CHECK((id >= first && id < first + size));
    const auto& all = seen[group];
    const std::set<std::uint64_t> once(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size));
    if (group == 1) {
      CHECK(!once.contains(labelled + 7));
      CHECK(once.size() >= size - 2);
    } else {
      CHECK(once.size() == size);
    }
    first += size;
    ++group;
  }
}

TEST_CASE("an epoch of groups ends with its first source, its last one, or after so many batches") {
  const Files files;
  const auto batches = [&](const std::string& epoch) {
    const DataParts data = open_training_data(files.config("[data]\n" + epoch), "cpu");
    CHECK(data.batch == rows);
    return data.batches.per_epoch();
  };
  CHECK(batches("") == 10);
  CHECK(batches("epoch = \"shortest\"") == 5);
  CHECK(batches("epoch = 123") == 123);
  const DataParts data = open_training_data(files.config(), "cpu");
  CHECK(describe_batches(data) == "10 batches of 14 rows (4 labelled, 8 unlabelled, 2 text)");
  std::string forms;
  for (auto& field : data.sampler->fields()) forms += describe_form(field) + "; ";
  CHECK(forms ==
        "labelled.image u8 12x12x3; labelled.label i64; unlabelled.image u8 20x20x3; text.tokens i64 ≤40; "
        "text.tokens_length i64; ");
}

TEST_CASE("a stream of groups hands out each field with its own rows, and goes on in another world") {
  const Files files;
  std::map<std::uint64_t, std::string> whole, parts;  // the tokens' lengths and ids, by batch
  const auto take = [](DataLoader& loader, std::uint64_t number, std::map<std::uint64_t, std::string>& to) {
    const auto batch = loader.next();
    REQUIRE(batch);
    std::string& text = to[number];
    for (std::size_t i = 0; i < loader.fields().size(); ++i) {
      const Field field = batch->stored_field(i);
      const std::size_t bytes = batch->rows_of(i) * field.row_bytes();
      if (field.name == "text.tokens_length") text.append(reinterpret_cast<const char*>(batch->field(i)), bytes);
      if (field.name == "labelled.image") CHECK(field.dtype == DType::f32);
    }
  };
  DataLoader one(files.config(), {.drop_last = false});
  CHECK(one.batch_size() == rows);
  CHECK(one.samples() == 140);
  one.begin_epoch();
  for (std::uint64_t batch = 0; batch < 4; ++batch) take(one, batch, whole);
  const StreamPosition place = one.position();
  for (std::uint64_t batch = 4; batch < 10; ++batch) take(one, batch, whole);
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    DataLoader two(files.config(), {.drop_last = false, .slice = {rank, 2}});
    CHECK(two.basis() == one.basis());
    two.seek(place);
    two.begin_epoch();
    for (std::uint64_t batch = 4; batch < 10; ++batch) take(two, batch, parts);
  }
  for (auto& [batch, text] : parts) CHECK(text == whole.at(batch));
  check_failure(failure_of([&] { one.seek({0, 15}); }), ExitCode::usage, "a position after 15 rows");
}

TEST_CASE("keys that do not fit groups are refused") {
  const Files files;
  const auto refuses = [&](const std::string& what, const std::string& more,
                           const std::string& fields = fields_of_groups(), const Slice& slice = {}) {
    check_failure(failure_of([&] { open_training_data(files.config(more, fields), "cpu", {.slice = slice}); }),
                  ExitCode::usage, what);
  };
  refuses("several [[data.source]]s do by ratio or rows", "budget = 100");
  refuses("several kinds of rows", "[batch_augment]\nmixup = 0.2");
  check_failure(failure_of([&] { open_training_data(files.config("[sampler]\nname = \"classify\"", ""), "cpu"); }),
                ExitCode::data, "data.source.1 (unlabelled, ");
  refuses("a batch of 14 rows for 15 processes", "", fields_of_groups(), {0, 15});
}

}  // namespace flowtrain::groups_test
