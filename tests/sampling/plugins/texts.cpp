// The bytes and the words of a text, with free axes; its key `measures` makes it measure wrongly.
#include "sampling/plugin.hpp"

namespace plugin = flowtrain::plugin;

namespace {

constexpr std::int64_t most_bytes = 12, most_words = 4, most_letters = 5;
constexpr std::uint8_t fill = 7;

class Texts : public plugin::ShapedBlockSampler {
 public:
  explicit Texts(const plugin::Create& create) : from_(create.text("from")), measures_(create.text("measures")) {
    const ft_create& raw = create.raw();
    const auto* const end = raw.parts + raw.parts_count;
    const auto* const part = std::find_if(raw.parts, end, [&](auto& each) { return each.name == from_; });
    if (part == end || part->encoding != FT_UTF8) throw plugin::Error("the data set has no text '" + from_ + "'");
  }

  std::vector<ft_field> fields() const override {
    return {plugin::field("id", FT_I64, {}), plugin::free_field("bytes", FT_U8, {most_bytes}, 1, fill),
            plugin::free_field("lengths", FT_I32, {most_words, most_letters, 2}, 2)};
  }

  // A text of n bytes has n / 3 words of 3 letters, so that an outline shows how many there are.
  void measure(const ft_record& record, std::span<std::int64_t> extents) const override {
    if (measures_ == "nothing") return;
    const auto size = static_cast<std::int64_t>(plugin::part(record, from_).bytes_size);
    if (measures_ == "error") throw plugin::Error("it cannot be measured");
    extents[0] = measures_ == "beyond" ? most_bytes + 1 : std::min(size, most_bytes);
    extents[1] = std::min(size / 3, most_words);
    extents[2] = 3;
  }

  void sample(const ft_record& record, plugin::Random&, const plugin::Row& row) const override {
    write(record, row, 0);
  }

  void sample_rows(std::span<const ft_record* const> records, const plugin::Row& first) const override {
    for (std::size_t i = 0; i < records.size(); ++i) write(*records[i], first, i);
  }

 private:
  void write(const ft_record& record, const plugin::Row& first, std::size_t row) const {
    const ft_part& text = plugin::part(record, from_);
    const auto length = static_cast<std::size_t>(first.extents()[0]), kept = std::min(text.bytes_size, length);
    std::memcpy(first[0] + row * sizeof record.id, &record.id, sizeof record.id);
    std::uint8_t* const bytes = first[1] + row * length;
    std::fill(std::copy_n(text.bytes, kept, bytes), bytes + length, fill);
    const auto words = first.extents()[1], letters = first.extents()[2];
    const auto own = static_cast<std::int64_t>(text.bytes_size / 3);
    std::uint8_t* to = first[2] + row * static_cast<std::size_t>(words * letters * 2) * sizeof(std::int32_t);
    for (std::int64_t word = 0; word < words; ++word)
      for (std::int64_t letter = 0; letter < letters; ++letter) {
        const bool has = word < own && letter < 3;
        const std::int32_t pair[2] = {has ? text.bytes[word * 3 + letter] : 0, has ? 1 : 0};
        std::memcpy(to, pair, sizeof pair);
        to += sizeof pair;
      }
  }

  std::string from_, measures_;
};

}  // namespace

FLOWTRAIN_SAMPLER_PLUGIN(Texts, "texts", "the bytes and the words of a text",
                         {"from", FT_TEXT, "txt", "name of the part"},
                         {"measures", FT_TEXT, "right", "right, beyond, nothing or error"})
