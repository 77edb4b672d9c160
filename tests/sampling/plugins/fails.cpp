// A plugin that goes wrong where its key `where` says.
#include "sampling/plugin.hpp"

namespace plugin = flowtrain::plugin;

namespace {

class Fails : public plugin::Sampler {
 public:
  explicit Fails(const plugin::Create& create) : where_(create.text("where")) {
    if (where_ == "create") throw plugin::Error("the key 'where' asks for it");
    if (where_ == "undeclared") create.integer("missing");
  }

  std::vector<ft_field> fields() const override {
    if (where_ == "fields") throw plugin::Error("no fields today");
    if (where_ == "no_fields") return {};
    if (where_ == "long_name") return {plugin::field(std::string(64, 'x').c_str(), FT_U8, {1})};
    if (where_ == "same_names") return {plugin::field("image", FT_U8, {2}), plugin::field("image", FT_U8, {2})};
    if (where_ == "bad_shape") return {plugin::field("image", FT_U8, {4, 0, 3})};
    if (where_ == "huge_shape") return {plugin::field("image", FT_U8, {1 << 30, 1 << 30, 3})};
    if (where_ == "bad_mean") return {plugin::field("image", FT_U8, {4, 4, 1}, {0, 0, 0}, {1, 1, 1})};
    if (where_ == "many_free_axes") return {plugin::free_field("image", FT_U8, {2, 2}, 3)};
    if (where_ == "unmeasured") return {plugin::field("label", FT_I64, {}), plugin::free_field("text", FT_U8, {8})};
    if (where_ == "free_mean") {
      auto image = plugin::field("image", FT_U8, {4, 4, 1}, {0}, {1});
      image.free_axes = 2;
      return {image};
    }
    if (where_ == "bad_dtype") return {plugin::field("image", static_cast<ft_dtype>(9), {1})};
    return {plugin::field("value", FT_F32, {})};
  }

  void sample(const ft_record&, plugin::Random& random, std::span<std::uint8_t* const> rows) const override {
    if (where_ == "sample") throw plugin::Error("this record is not to my taste");
    if (where_ == "unknown") throw 42;
    if (where_ == "long_message") throw plugin::Error(std::string(5000, 'x'));
    const auto value = static_cast<float>(random.uniform());
    std::memcpy(rows[0], &value, sizeof value);
  }

 private:
  std::string where_;
};

}  // namespace

FLOWTRAIN_SAMPLER_PLUGIN(Fails, "fails", "goes wrong where it is told to", {"where", FT_TEXT, "nowhere", "what fails"},
                         {"count", FT_INTEGER, "3", "an integer"}, {"exact", FT_BOOLEAN, "true", "a switch"})
