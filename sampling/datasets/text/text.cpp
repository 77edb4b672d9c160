// The `text` data set: files of text, or their lines, paragraphs or windows, read in place.

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/split_names.h"
#include "sampling/datasets/text/text_files.h"
#include "sampling/datasets/text/windows.h"
#include "sampling/fingerprint.h"
#include "sampling/named_dataset.h"
#include "sampling/parts/part_collector.h"
#include "sampling/remote/remote.h"
#include "sampling/samplers/keys.h"

namespace flowtrain {
namespace {

class TextDataset : public NamedDataset {
 public:
  TextDataset(TextFiles files, TextUnit unit, const Settings& settings)
      : files_(std::move(files)),
        unit_(unit),
        window_(static_cast<std::uint64_t>(settings.integer("window"))),
        checks_(settings.boolean("check")) {
    for (const auto& file : files_.all) ends_.push_back(size() + records_of(file));
    if (size() == 0)
      throw EmptyDataset(
          as_utf8(concat(files_.place, ": there is no text in ",
                         files_.all.size() == 1 ? "the file" : concat(files_.all.size(), " files"),
                         window_ > 0 ? ", or less than two bytes, of which a window has one to predict" : "")));
  }

  std::uint64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    const Place place = locate(id);
    Record record{.id = id};
    try {
      if (place.range.size_bytes > max_sample_bytes)
        throw std::runtime_error(concat(place.range.size_bytes, " bytes are more than a sample may have (1 GiB)"));
      if (buffer.bytes.size() < place.range.size_bytes) buffer.bytes.resize(place.range.size_bytes);
      const auto bytes = std::span(buffer.bytes).first(place.range.size_bytes);
      if (place.file.file)
        read_exactly(*place.file.file, place.range.offset, bytes);
      else
        read_exactly(Descriptor::file(place.file.path.c_str()), place.range.offset, bytes);
      if (checks_) check({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      PartCollector parts(buffer);
      parts.add(form_, bytes);
      parts.finish(record);
    } catch (const std::runtime_error& error) {
      throw SampleError(describe(id) + ": " + error.what());
    }
    return record;
  }

  std::vector<PartForm> parts() const override { return {form_}; }

  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override {
    record = {.id = id};
    PartCollector parts(buffer);
    parts.outline_text(form_, locate(id).range.size_bytes);
    parts.finish(record);
    return true;
  }

  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return {}; }

  /// Returns the file's path; of a piece of it also its first byte, counted from 0.
  std::string describe(std::uint64_t id) const override {
    const Place place = locate(id);
    return as_utf8(is_whole() ? place.file.path : concat(place.file.path, ", byte ", place.range.offset));
  }

  /// Returns the file's name: windows belong together, unless there is only one file. Lines, paragraphs and those
  /// windows have their number in it, too.
  std::string name(std::uint64_t id) const override {
    const Place place = locate(id);
    const bool whole = is_whole() || (window_ > 0 && files_.all.size() > 1);
    return as_utf8(whole ? place.file.name : concat(place.file.name, "#", place.number));
  }

  bool has_split() const override { return files_.has_split; }
  std::string place() const override {
    return as_utf8(concat(files_.place, files_.all.size() > 1 ? concat(", ", files_.all.size(), " files") : ""));
  }
  std::vector<std::string> notes() const override { return files_.notes; }

  std::uint64_t fingerprint() const override {
    std::uint64_t all = fingerprint_of(window_, static_cast<std::uint64_t>(unit_) | (checks_ ? 0U : 1U << 8U));
    for (const auto& file : files_.all)
      all = fingerprint_of(file.index.bytes(), fingerprint_of(file.size_bytes, fingerprint_of(file.name, all)));
    return all;
  }

  bool takes_hints() const override { return files_.access && files_.access->ahead; }
  void hint(std::uint64_t id) const override {
    const auto [file, range, number] = locate(id);
    if (file.remote && range.size_bytes <= max_sample_bytes) file.remote->expect(range.offset, range.size_bytes);
  }
  void prefetch(std::uint64_t id) const override {
    const auto [file, range, number] = locate(id);
    if (file.remote) file.remote->begin(range.offset, range.size_bytes);
  }
  void forget(std::uint64_t id) const override {
    const auto [file, range, number] = locate(id);
    if (file.remote) file.remote->forget(range.offset, range.size_bytes);
  }
  std::uint64_t retries() const override { return files_.access ? files_.access->outages.retries() : 0; }

 private:
  struct Place {
    const TextFile& file;
    TextRange range;
    std::uint64_t number;  ///< number of the record within its file
  };

  bool is_whole() const { return unit_ == TextUnit::file && window_ == 0; }

  std::uint64_t records_of(const TextFile& file) const {
    const auto bytes = file.size_bytes - file.begin;
    if (unit_ != TextUnit::file) return file.index.size();
    return window_ > 0 ? windows_of(bytes, window_) : bytes > 0 ? 1 : 0;
  }

  Place locate(std::uint64_t id) const {
    const auto at = static_cast<std::size_t>(std::ranges::upper_bound(ends_, id) - ends_.begin());
    const TextFile& file = files_.all[at];
    const auto number = id - (at == 0 ? 0 : ends_[at - 1]);
    if (unit_ != TextUnit::file) return {file, file.index[number], number};
    const auto begin = file.begin + number * window_;
    return {
        file, {begin, window_ > 0 ? std::min(window_ + 1, file.size_bytes - begin) : file.size_bytes - begin}, number};
  }

  /// Refuses what is no text. A window may begin and end within a character.
  void check(std::string_view text) const {
    if (const auto at = text.find('\0'); at != text.npos)
      throw std::runtime_error(concat("it is no text: there is a zero byte at byte ", at, " of it",
                                      at < 2 ? ", as there is in UTF-16" : ""));
    std::size_t begin = 0;
    while (window_ > 0 && begin < std::min<std::size_t>(3, text.size()) && (text[begin] & 0xc0) == 0x80) ++begin;
    const auto wrong = first_not_utf8(text.substr(begin));
    if (wrong && (window_ == 0 || begin + *wrong + 3 < text.size()))
      throw std::runtime_error(concat("the text is not UTF-8 at byte ", begin + *wrong));
  }

  TextFiles files_;
  TextUnit unit_;
  std::uint64_t window_;
  bool checks_;
  PartForm form_{"text", Encoding::text};
  std::vector<std::uint64_t> ends_;  ///< id after the last one of each file
};

std::unique_ptr<Dataset> make_text(const Settings& settings, const DatasetInput& input) {
  const auto& name = settings.text("unit");
  const auto unit = name == "line" ? TextUnit::line : name == "paragraph" ? TextUnit::paragraph : TextUnit::file;
  if (settings.integer("window") > 0 && unit != TextUnit::file)
    throw settings.error("window", concat("windows are pieces of whole files, but unit is \"", name, "\""),
                         ExitCode::usage, "leave out one of the two keys");
  return std::make_unique<TextDataset>(open_text_files(settings, unit, input.training), unit, settings);
}

}  // namespace

DatasetEntry text_entry() {
  std::vector<Key> keys{
      text_files_key(),
      choice_key("unit", "file",
                 "piece of a file that is a record: the whole file, a line (without its end, LF or CR LF), or a "
                 "paragraph (the lines between two that are blank); empty files, lines and paragraphs are none, and a "
                 "byte order mark belongs to none",
                 {"file", "line", "paragraph"}),
      {"window", Kind::integer, std::int64_t{0},
       "makes a record of each `window` + 1 bytes of a file, from each multiple of `window` on, the last one shorter; "
       "0: "
       "off",
       0, static_cast<double>(1 << 30)},
      {"check", Kind::boolean, true,
       "counts a record that is not UTF-8, or holds a zero byte, as damaged; false: its bytes stay as they are"},
      split_names_key()};
  for (auto& key : remote_keys()) keys.push_back(std::move(key));
  return {
      .name = "text",
      .help =
          "files of text in UTF-8, or their lines, paragraphs or windows, as the part text. path: a file, a folder, "
          "a pattern (docs/**/*.md, part-{000..127}.txt), local, https:// or s3://; split: a sub-folder or a file; "
          "default: train, or val (else test) to validate, by their usual names; data.val_share holds out files, "
          "or lines and paragraphs",
      .keys = std::move(keys),
      .make = make_text};
}

}  // namespace flowtrain
