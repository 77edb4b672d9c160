// The transform `lm`: the ids of a text, or stored ones, and beside each the id that follows it, for language models.
#include <algorithm>
#include <array>
#include <utility>

#include "sampling/core/text.h"
#include "sampling/transforms/text_ids.h"

namespace flowtrain {
namespace {

/// The bytes that each id stands for: as the first piece of a text, where some tokenizers leave out a blank, and later.
class BytesOfIds {
 public:
  explicit BytesOfIds(const Tokenizer& tokenizer) : first_(tokenizer.vocabulary_size()), later_(first_.size()) {
    std::string text;
    for (std::uint32_t id = 0; id < first_.size(); ++id) {
      const std::array twice{id, id};
      text.clear();
      tokenizer.decode(std::span(twice).first(1), text);
      first_[id] = static_cast<std::int32_t>(text.size());
      text.clear();
      tokenizer.decode(twice, text);
      later_[id] = static_cast<std::int32_t>(text.size()) - first_[id];
    }
  }
  /// Returns the bytes of an id behind another one: special tokens have none, and a text begins behind them.
  std::int32_t operator()(std::uint32_t before, std::uint32_t id) const {
    return later_[before] == 0 ? first_[id] : later_[id];
  }

 private:
  std::vector<std::int32_t> first_, later_;
};

class LmTransform final : public Transform {
 public:
  LmTransform(const Settings& settings, const TransformInput& input)
      : ids_(settings, input.from, TextIds::Takes::texts_and_ids),
        form_(settings, ids_.tokenizer().get(), RowForm::CutEnd::is_cut, 1) {
    const auto add = [&](std::string name, DType dtype, double fill, const TextIds* ids, ShowValue show) {
      Field field{.name = std::move(name), .dtype = dtype, .shape = {settings.integer("max")}};
      field.free_axes = 1;
      field.fill = fill;
      if (ids) field.values = ids->vocabulary(), field.tokenizer = ids->tokenizer();
      field.show = std::move(show);
      fields_.push_back(std::move(field));
    };
    const auto& tokenizer = ids_.tokenizer();
    add(input.name, DType::i64, static_cast<double>(settings.integer("fill")), &ids_, show_ids(tokenizer));
    add("label", DType::i64, no_label, &ids_, show_next_ids(tokenizer));
    if (!settings.boolean("bytes")) return;
    if (!tokenizer)
      throw settings.error("bytes", "only a tokenizer knows the bytes of an id", ExitCode::usage,
                           "name the tokenizer that the ids were made by");
    bytes_of_.emplace(*tokenizer);
    add("label_bytes", DType::i32, 0, nullptr, {});
  }

  std::vector<Field> fields() const override { return fields_; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    const auto length = form_.length(ids_.count(record));
    std::ranges::fill(extents, length == unknown_extent ? length : checked(length) - 1);
  }

  void make(const Record& record, Stream, Row to) const override {
    const std::span<const std::uint32_t> ids = form_.row(ids_(record));
    checked(static_cast<std::int64_t>(ids.size()));
    put_row(fields_[0], ids.first(ids.size() - 1), to[0], to.extents());
    put_row(fields_[1], ids.subspan(1), to[1], to.extents());
    if (!bytes_of_) return;
    thread_local std::vector<std::int32_t> bytes;
    bytes.resize(ids.size() - 1);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = (*bytes_of_)(ids[i], ids[i + 1]);
    put_row<std::int32_t>(fields_[2], bytes, to[2], to.extents());
  }

 private:
  static std::int64_t checked(std::int64_t ids) {
    if (ids < 2) throw SampleError(concat("it has ", ids, ids == 1 ? " token" : " tokens", ", but 'lm' needs 2"));
    return ids;
  }

  TextIds ids_;
  RowForm form_;
  std::vector<Field> fields_;
  std::optional<BytesOfIds> bytes_of_;
};

}  // namespace

TransformEntry lm_transform_entry() {
  return {.name = "lm",
          .help =
              "the ids of a text, or stored ids, i64 (length), and the field label, i64 (length): the id that "
              "follows each, or -100 beyond the end; N + 1 ids are a row of N",
          .keys = id_keys({vocabulary_key(),
                           {"bytes", Kind::boolean, false,
                            "add the field label_bytes, i32 (length): the bytes of text that each label stands for"}}),
          .make = [](const Settings& settings, const TransformInput& input) {
            return std::make_unique<LmTransform>(settings, input);
          }};
}

}  // namespace flowtrain
