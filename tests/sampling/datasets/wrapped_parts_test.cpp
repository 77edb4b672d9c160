#include <doctest/doctest.h>

#include "sampling/codecs/encode.h"
#include "sampling/core/text.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/relabelled_dataset.h"
#include "sampling/images/picture_cache.h"
#include "sampling/images/stored_picture.h"
#include "sampling/sources/hold_out.h"
#include "sampling/sources/mixed_dataset.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::wrapped_parts_test {
namespace {

std::unique_ptr<Dataset> table(const TempFolder& temp, const std::string& name, const std::string& text) {
  const auto entry = manifest_entry();
  return entry.make(settings_for(entry.keys, {{"path", temp.write(name, text).string()}}), {});
}

/// Names the parts of a data set, with the shapes of arrays.
std::string forms_of(const Dataset& set) {
  return join(set.parts(), "; ", [](const PartForm& form) { return concat(form.name, " (", join(form.shape), ")"); });
}

/// Returns the texts of a record's parts, or the extents of an outline's.
std::string texts_of(const Record& record) {
  return join(record.parts, "; ", [](const Part& part) {
    const std::string_view text(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size());
    return concat(part.name, "=", part.bytes.empty() || part.encoding != Encoding::text ? join(part.shape) : text);
  });
}

TEST_CASE("parts: several sources have those that are alike in all") {
  TempFolder temp;
  std::vector<Dataset::Source> sources;
  sources.push_back({"a", table(temp, "a.jsonl", "{\"t\": \"one\", \"n\": [1, 2], \"x\": 1, \"own\": \"a\"}\n")});
  sources.push_back({"b", table(temp, "b.jsonl", "{\"n\": [1, 2, 3], \"x\": 0.5, \"t\": \"three\"}\n")});
  const MixedDataset mixed(std::move(sources));
  CHECK(forms_of(mixed) == "t (); n (-1)");
  ReadBuffer buffer;
  CHECK(texts_of(mixed.read(0, buffer)) == "t=one; n=2");
  CHECK(texts_of(mixed.read(1, buffer)) == "t=three; n=3");
  Record outline;
  REQUIRE(mixed.outline(1, outline, buffer));
  CHECK(outline.id == 1);
  CHECK(texts_of(outline) == "t=5; n=3");
}

TEST_CASE("parts: some records of a data set, and records with other labels, keep theirs") {
  TempFolder temp;
  const std::string text = "t,label\none,cat\nfour,dog\n";
  const SubsetDataset some(table(temp, "a.csv", text), {1});
  const RelabelledDataset relabelled(table(temp, "a.csv", text), {"dog", "cat"}, {1, 0});
  CHECK(forms_of(some) == "t ()");
  CHECK(forms_of(relabelled) == "t ()");
  ReadBuffer buffer;
  CHECK(texts_of(some.read(0, buffer)) == "t=four");
  CHECK(texts_of(relabelled.read(1, buffer)) == "t=four");
  Record outline;
  REQUIRE(some.outline(0, outline, buffer));
  CHECK(outline.id == 0);
  CHECK(texts_of(outline) == "t=4");
  REQUIRE(relabelled.outline(0, outline, buffer));
  CHECK(outline.label == 1);
}

TEST_CASE("parts: a record whose decoded picture is kept has its parts") {
  TempFolder temp;
  const std::vector<std::uint8_t> pixels{1, 2, 3, 4, 5, 6};
  const auto png = encode_png({pixels.data(), 1, 2, 3});
  temp.write("a.png", {reinterpret_cast<const char*>(png.data()), png.size()});
  const auto cached = with_picture_cache(table(temp, "a.csv", "image,t\na.png,one\na.png,two\n"), 1 << 20);
  CHECK(forms_of(*cached) == "t ()");
  ReadBuffer buffer;
  Image scratch;
  picture_of(cached->read(0, buffer), scratch);
  cached->read(1, buffer);
  const auto kept = cached->read(0, buffer);
  CHECK(kept.encoding == Encoding::pixels);
  CHECK(kept.width == 2);
  CHECK(texts_of(kept) == "t=one");
}

}  // namespace
}  // namespace flowtrain::wrapped_parts_test
