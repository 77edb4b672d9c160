// The transform `tokens`: a text, or stored ids, as the ids of a tokenizer, for models of language.
#include <memory>
#include <string>
#include <utility>

#include "sampling/samplers/keys.h"
#include "sampling/transforms/text_ids.h"

namespace flowtrain {
namespace {

class TokensTransform final : public Transform {
 public:
  TokensTransform(const Settings& settings, const TransformInput& input)
      : ids_(settings, input.from, TextIds::Takes::texts_and_ids),
        form_(settings, ids_.tokenizer().get(), RowForm::CutEnd::stays),
        field_{input.name, settings.text("dtype") == "i32" ? DType::i32 : DType::i64, {settings.integer("max")}},
        part_(input.from.name),
        line_end_(settings.place_of("from") +
                      "there are transcripts with the end of a line behind them, which a net learns to write, too; "
                      "write their files without it",
                  settings.place_of("from") + "the end of a line stood behind a transcript"),
        tells_empty_(input.training || input.name != "label"),
        tells_line_end_(input.training && input.name == "label" && input.from.encoding == Encoding::text) {
    field_.free_axes = 1;
    field_.values = ids_.vocabulary();
    field_.fill = static_cast<double>(settings.integer("fill"));
    field_.tokenizer = ids_.tokenizer();
    field_.show = show_ids(ids_.tokenizer());
  }

  std::vector<Field> fields() const override { return {field_}; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    extents[0] = form_.length(ids_.count(record));
  }

  void make(const Record& record, Stream, Row to) const override {
    const auto& ids = ids_(record);
    if (tells_empty_) ids_.tell_if_empty(ids);
    if (tells_line_end_ && text_of(*record.part(part_)).ends_with('\n')) line_end_.add();
    put_row<std::uint32_t>(field_, form_.row(ids), to[0], to.extents());
  }

 private:
  TextIds ids_;
  RowForm form_;
  Field field_;
  std::string part_;
  CountedWarning line_end_;
  bool tells_empty_;  ///< predictions have no labels
  bool tells_line_end_;
};

}  // namespace

TransformEntry tokens_transform_entry() {
  return {.name = "tokens",
          .help = "the ids of a text's tokens, or stored ids: i64 (length)",
          .keys = id_keys({choice_key("dtype", "i64", "type of the ids", {"i64", "i32"}), vocabulary_key()}),
          .make = [](const Settings& settings, const TransformInput& input) {
            return std::make_unique<TokensTransform>(settings, input);
          }};
}

}  // namespace flowtrain
