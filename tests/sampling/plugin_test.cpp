#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "sampling/core/error.h"
#include "sampling/plugin_abi.h"
#include "sampling/plugin_host/plugin.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/paths.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::plugin_test {
namespace {

std::string test_plugin(const std::string& name) { return test::build_path("test_plugins/") + name + ".so"; }
const std::string edges_path = test::build_path("plugins/edges.so");

/// What a call throws: its message without the plugin's path.
template <class Call>
std::string refusal(const std::string& path, Call call) {
  try {
    call();
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::usage);
    const std::string start = "sampler plugin '" + path + "': ", message = error.what();
    CHECK(message.substr(0, start.size()) == start);
    return message.substr(std::min(start.size(), message.size()));
  }
  return "nothing thrown";
}

std::string load_refusal(const std::string& path) {
  return refusal(path, [&] { SamplerPlugin plugin(path); });
}

MemoryDataset grey_pictures() { return MemoryDataset({pixels_item(5, 4, 1)}); }

std::unique_ptr<Sampler> make_failing(const std::string& where) {
  const SamplerPlugin plugin(test_plugin("fails"));
  const auto dataset = grey_pictures();
  return plugin.make(settings_for(plugin.keys(), {{"where", where}}, "sampler"), {dataset});
}

std::string make_refusal(const std::string& where) {
  return refusal(test_plugin("fails"), [&] { make_failing(where); });
}

std::string sample_failure(const std::string& where) {
  const auto dataset = grey_pictures();
  ReadBuffer buffer;
  Stream random(1, Purpose::sample, 0);
  float value = 0;
  std::byte* row[] = {reinterpret_cast<std::byte*>(&value)};
  try {
    make_failing(where)->sample(dataset.read(0, buffer), random, row);
  } catch (const SampleError& error) {
    return error.what();
  }
  return "nothing thrown";
}

/// Two records with a picture, a number and a text: the second has "one two.".
class TwoTexts : public Dataset {
 public:
  std::uint64_t size() const override { return 2; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    Record record;
    outline(id, record, buffer);
    const auto bytes = std::as_bytes(std::span(texts_[id]));
    record.bytes = bytes;
    buffer.parts[0].bytes = std::as_bytes(std::span(buffer.shapes)).first(8);
    buffer.parts[1].bytes = bytes;
    return record;
  }
  std::vector<PartForm> parts() const override {
    return {{"count", Encoding::array, DType::i64, {-1}}, {"txt", Encoding::text}};
  }
  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override {
    buffer.shapes = {1, static_cast<std::int64_t>(texts_[id].size())};
    const std::span<const std::int64_t> shapes = buffer.shapes;
    buffer.parts = {{.name = "count", .encoding = Encoding::array, .dtype = DType::i64, .shape = shapes.first(1)},
                    {.name = "txt", .encoding = Encoding::text, .shape = shapes.last(1)}};
    record = {.id = id, .parts = buffer.parts};
    return true;
  }
  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return {}; }
  std::string describe(std::uint64_t id) const override { return "text " + std::to_string(id); }

 private:
  std::string texts_[2] = {"a longer text than fits", "one two."};
};

TwoTexts two_texts() { return {}; }

std::unique_ptr<Sampler> make_texts(const Dataset& dataset, const std::string& measures = "right") {
  const SamplerPlugin plugin(test_plugin("texts"));
  return plugin.make(settings_for(plugin.keys(), {{"measures", measures}}, "sampler"), {dataset});
}

/// A row of the plugin `texts`.
struct TextRow {
  std::int64_t id = -1;
  std::string bytes;
  std::vector<std::int32_t> lengths;

  TextRow(const Sampler& sampler, const Record& record, const std::vector<std::int64_t>& extents) {
    const auto fields = sampler.fields();
    bytes.resize(fields[1].row_bytes(extents_of(fields, 1, extents)));
    lengths.resize(fields[2].row_bytes(extents_of(fields, 2, extents)) / sizeof(std::int32_t));
    std::byte* const starts[] = {reinterpret_cast<std::byte*>(&id), reinterpret_cast<std::byte*>(bytes.data()),
                                 reinterpret_cast<std::byte*>(lengths.data())};
    Stream random(1, Purpose::sample, 0);
    sampler.sample(record, random, Row(starts, extents));
  }
};

}  // namespace

TEST_CASE("plugins that cannot be loaded say why") {
  TempFolder folder;
  const std::string missing = (folder.path() / "none.so").string();
  CHECK(load_refusal(missing) == "no such file");
  const std::string text = folder.write("text.so", std::string(200, 't')).string();
  CHECK(load_refusal(text).find("cannot be loaded: ") == 0);
  CHECK(load_refusal(text).find("invalid ELF header") != std::string::npos);
  CHECK(load_refusal(folder.path().string()).find("cannot be loaded: ") == 0);
  CHECK(load_refusal(test_plugin("no_entry")) == "does not export flowtrain_sampler_plugin");
  CHECK(load_refusal(test_plugin("other_abi")) ==
        "it was built for interface version 44, but this flowtrain has version 3");
  const auto size_bytes = std::to_string(sizeof(ft_sampler_plugin));
  CHECK(load_refusal(test_plugin("other_size")) == "the plugin's table has " +
                                                       std::to_string(sizeof(ft_sampler_plugin) - 8) +
                                                       " bytes, but flowtrain's has " + size_bytes);
  CHECK(load_refusal(test_plugin("empty_table")) == "the plugin's table is incomplete");
  CHECK(load_refusal(test_plugin("bad_default")) == "the default of its key 'count' is not of its kind");
}

TEST_CASE("plugins that cannot be made say why") {
  CHECK(make_refusal("create") == "cannot be created: the key 'where' asks for it");
  CHECK(make_refusal("undeclared") == "cannot be created: the key 'missing' is not declared");
  CHECK(make_refusal("fields") == "cannot be created: no fields today");
  CHECK(make_refusal("long_name") == "cannot be created: the field name '" + std::string(64, 'x') + "' is too long");
  CHECK(make_refusal("no_fields") == "states 0 fields, expected 1 to 32");
  CHECK(make_refusal("same_names") == "two fields are called 'image'");
  CHECK(make_refusal("bad_shape") == "field 0 has an axis of size 0");
  CHECK(make_refusal("huge_shape") == "field 0 is larger than 2^40 elements");
  CHECK(make_refusal("many_free_axes") == "field 0 has 3 free axes, but 2 axes in all");
  CHECK(make_refusal("unmeasured") == "field 1 has free axes, but the plugin has no measure()");
  CHECK(make_refusal("free_mean") == "field 0 has a mean and free axes; only pictures of one size have a mean");
  CHECK(make_refusal("bad_dtype") == "field 0 has the unknown dtype 9");
  CHECK(make_refusal("bad_mean") ==
        "field 0 has a mean for 3 channels, but is not a u8 image (height, width, channels) with as many");
}

TEST_CASE("plugins that fail on a sample") {
  CHECK(sample_failure("nowhere") == "nothing thrown");
  CHECK(sample_failure("sample") == "plugin 'fails': this record is not to my taste");
  CHECK(sample_failure("unknown") == "plugin 'fails': an exception of unknown type");
  CHECK(sample_failure("long_message").size() < 600);
}

TEST_CASE("a plugin's keys are typed") {
  const SamplerPlugin plugin(test_plugin("fails"));
  const auto keys = plugin.keys();
  REQUIRE(keys.size() == 3);
  CHECK(keys[0].kind == Kind::text);
  CHECK(keys[1].kind == Kind::integer);
  CHECK(std::get<std::int64_t>(keys[1].fallback) == 3);
  CHECK(keys[2].kind == Kind::boolean);
  CHECK(std::get<bool>(keys[2].fallback));
}

TEST_CASE("a plugin draws from the sample's own stream") {
  const auto sampler = make_failing("nowhere");
  const auto dataset = grey_pictures();
  ReadBuffer buffer;
  float value = 0;
  std::byte* row[] = {reinterpret_cast<std::byte*>(&value)};
  Stream random(7, Purpose::sample, 123), same(7, Purpose::sample, 123);
  sampler->sample(dataset.read(0, buffer), random, row);
  CHECK(value == static_cast<float>(same.uniform()));
}

TEST_CASE("the example plugin") {
  auto plugin = std::make_unique<SamplerPlugin>(edges_path);
  CHECK(plugin->name() == "edges");
  CHECK(plugin->help() == "strength of the edges in stored pixels");
  auto item = pixels_item(3, 4, 1, 6);
  const int pixels[] = {0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100};
  for (std::size_t i = 0; i < 12; ++i) item.bytes[i] = static_cast<std::byte>(pixels[i]);
  auto wide = pixels_item(3, 5, 1);
  const MemoryDataset dataset({item, wide});
  const auto sampler = plugin->make(settings_for(plugin->keys(), {{"gain", 2.0}}, "sampler"), {dataset});
  plugin.reset();  // the sampler keeps the shared object open

  const auto fields = sampler->fields();
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].name == "image");
  CHECK(fields[0].shape == std::vector<std::int64_t>{3, 4, 1});
  CHECK(fields[0].mean == std::vector<double>{0.5});
  CHECK(fields[1].dtype == DType::i64);
  CHECK(fields[1].shape.empty());

  std::vector<std::byte> image(fields[0].row_bytes());
  std::int64_t label = 0;
  std::byte* row[] = {image.data(), reinterpret_cast<std::byte*>(&label)};
  ReadBuffer buffer;
  Stream random(1, Purpose::sample, 0);
  sampler->sample(dataset.read(0, buffer), random, row);
  CHECK(label == 6);
  const int expected[] = {0, 200, 200, 0, 0, 200, 200, 0, 0, 200, 200, 0};
  for (std::size_t i = 0; i < 12; ++i) CHECK(static_cast<int>(image[i]) == expected[i]);
  CHECK_THROWS_WITH_AS(sampler->sample(dataset.read(1, buffer), random, row),
                       "plugin 'edges': its size is not that of the first image", SampleError);
}

TEST_CASE("a plugin that takes blocks fills them as it fills single rows") {
  const SamplerPlugin plugin(edges_path);
  std::vector<MemoryDataset::Item> items;
  for (int i = 0; i < 5; ++i) {
    items.push_back(pixels_item(3, 4, 1, i));
    for (std::size_t b = 0; b < 12; ++b) items.back().bytes[b] = static_cast<std::byte>((b * 37 + i * 11) % 256);
  }
  items.push_back(pixels_item(3, 5, 1));
  const MemoryDataset dataset(items);
  const auto sampler = plugin.make(settings_for(plugin.keys(), {{"gain", 1.5}}, "sampler"), {dataset});
  REQUIRE(sampler->takes_blocks());

  std::vector<ReadBuffer> buffers(6);
  std::vector<Record> records;
  for (std::uint64_t id = 0; id < 6; ++id) records.push_back(dataset.read(id, buffers[id]));
  std::vector<const Record*> good;
  for (std::size_t i = 0; i < 5; ++i) good.push_back(&records[i]);
  std::vector<std::byte> one_by_one(5 * 12), block(5 * 12);
  std::vector<std::int64_t> labels(5), block_labels(5);
  Stream random(1, Purpose::sample, 0);
  for (std::size_t i = 0; i < 5; ++i) {
    std::byte* row[] = {one_by_one.data() + i * 12, reinterpret_cast<std::byte*>(&labels[i])};
    sampler->sample(records[i], random, row);
  }
  std::byte* first[] = {block.data(), reinterpret_cast<std::byte*>(block_labels.data())};
  sampler->sample_rows(good, first);
  CHECK(block == one_by_one);
  CHECK(block_labels == labels);

  const Record* bad[] = {&records[5]};
  CHECK_THROWS_WITH_AS(sampler->sample_rows(bad, first), "plugin 'edges': its size is not that of the first image",
                       SampleError);
}

TEST_CASE("a plugin sees the parts of a record, and makes rows of the batch's extents") {
  const auto dataset = two_texts();
  const auto sampler = make_texts(dataset);
  const auto fields = sampler->fields();
  REQUIRE(fields.size() == 3);
  CHECK(fields[0].free_axes == 0);
  CHECK(fields[1].free_axes == 1);
  CHECK(fields[1].shape == std::vector<std::int64_t>{12});
  CHECK(fields[1].fill == 7);
  CHECK(fields[2].free_axes == 2);
  CHECK(fields[2].shape == std::vector<std::int64_t>{4, 5, 2});

  ReadBuffer buffer;
  const Record record = dataset.read(1, buffer);
  for (const std::vector<std::int64_t>& extents : {std::vector<std::int64_t>{2, 0, 1}, {8, 2, 3}, {12, 4, 5}}) {
    const TextRow row(*sampler, record, extents);
    CHECK(row.id == 1);
    CHECK(row.bytes == ("one two." + std::string(4, '\7')).substr(0, static_cast<std::size_t>(extents[0])));
    for (std::int64_t i = 0; i < extents[1] * extents[2]; ++i) {
      const auto word = i / extents[2], letter = i % extents[2];
      const bool has = word < 2 && letter < 3;
      CHECK(row.lengths[2 * i] == (has ? "one two."[word * 3 + letter] : 0));
      CHECK(row.lengths[2 * i + 1] == (has ? 1 : 0));
    }
  }
}

TEST_CASE("a plugin's row without extents has its bounds") {
  const auto dataset = two_texts();
  const auto sampler = make_texts(dataset);
  ReadBuffer buffer;
  const Record record = dataset.read(0, buffer);
  CHECK(TextRow(*sampler, record, {}).bytes == TextRow(*sampler, record, {12, 4, 5}).bytes);
}

TEST_CASE("a plugin measures records and their outlines alike") {
  const auto dataset = two_texts();
  const auto sampler = make_texts(dataset);
  ReadBuffer buffer;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    std::vector<std::int64_t> read(3), outlined(3);
    sampler->measure(dataset.read(id, buffer), read);
    Record outline;
    REQUIRE(dataset.outline(id, outline, buffer));
    sampler->measure(outline, outlined);
    CHECK(read == outlined);
    CHECK(read == (id == 0 ? std::vector<std::int64_t>{12, 4, 3} : std::vector<std::int64_t>{8, 2, 3}));
  }
}

TEST_CASE("a plugin that measures wrongly is named") {
  const auto dataset = two_texts();
  ReadBuffer buffer;
  std::vector<std::int64_t> extents(3);
  const auto measure = [&](const char* how) { make_texts(dataset, how)->measure(dataset.read(1, buffer), extents); };
  CHECK_THROWS_WITH_AS(measure("beyond"),
                       "plugin 'texts': measure() gives axis 0 of the field 'bytes' the extent 13 for record 1, but it "
                       "must be 0 to 12",
                       UserError);
  CHECK_THROWS_WITH_AS(measure("nothing"),
                       "plugin 'texts': measure() gives axis 0 of the field 'bytes' the extent -1 for record 1, but it "
                       "must be 0 to 12",
                       UserError);
  CHECK_THROWS_WITH_AS(measure("error"), "plugin 'texts': it cannot be measured", SampleError);
}

TEST_CASE("a plugin sees which parts a data set has, and which a record lacks") {
  const SamplerPlugin plugin(test_plugin("texts"));
  const auto pictures = grey_pictures();
  CHECK(refusal(test_plugin("texts"), [&] { plugin.make(settings_for(plugin.keys(), {}, "sampler"), {pictures}); }) ==
        "cannot be created: the data set has no text 'txt'");
  const auto dataset = two_texts();
  Record record;
  std::vector<std::int64_t> extents(3);
  CHECK_THROWS_WITH_AS(make_texts(dataset)->measure(record, extents), "plugin 'texts': it has no part 'txt'",
                       SampleError);
}

TEST_CASE("a plugin's blocks have the batch's extents") {
  const auto dataset = two_texts();
  const auto sampler = make_texts(dataset);
  REQUIRE(sampler->takes_blocks());
  ReadBuffer buffers[2];
  const Record records[] = {dataset.read(0, buffers[0]), dataset.read(1, buffers[1])};
  const Record* const both[] = {&records[0], &records[1]};
  const std::vector<std::int64_t> extents{10, 3, 3};
  std::int64_t ids[2];
  std::string bytes(20, '\0');
  std::vector<std::int32_t> lengths(2 * 3 * 3 * 2);
  std::byte* const first[] = {reinterpret_cast<std::byte*>(ids), reinterpret_cast<std::byte*>(bytes.data()),
                              reinterpret_cast<std::byte*>(lengths.data())};
  sampler->sample_rows(both, Row(first, extents));
  const TextRow one(*sampler, records[0], extents), other(*sampler, records[1], extents);
  CHECK(bytes == one.bytes + other.bytes);
  CHECK(std::vector(lengths.begin(), lengths.begin() + 18) == one.lengths);
  CHECK(std::vector(lengths.begin() + 18, lengths.end()) == other.lengths);
}

TEST_CASE("the example plugin needs pixels") {
  const SamplerPlugin plugin(edges_path);
  auto item = pixels_item(3, 4, 1);
  item.encoding = Encoding::bytes;
  const MemoryDataset dataset({item});
  CHECK(refusal(edges_path, [&] { plugin.make(settings_for(plugin.keys(), {}, "sampler"), {dataset}); }) ==
        "cannot be created: it needs a data set of stored pixels (idx, cifar); it decodes no files");
}

}  // namespace flowtrain::plugin_test
