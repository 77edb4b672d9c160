#include "sampling/datasets/coco_instances.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/datasets/json_rows.h"

namespace flowtrain {
namespace {

constexpr double largest_pixel = 1e7;  // far beyond any picture; floats tell pixels apart up to there

/// Where each id stands in a list.
class Places {
 public:
  void add(std::int64_t id) { sorted_.emplace_back(id, static_cast<std::uint32_t>(sorted_.size())); }

  /// To be called after the last add(); returns an id that is there twice, if one is.
  std::optional<std::int64_t> sort() {
    std::sort(sorted_.begin(), sorted_.end());
    const auto twice = std::adjacent_find(sorted_.begin(), sorted_.end(),
                                          [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice == sorted_.end()) return {};
    return twice->first;
  }

  std::optional<std::uint32_t> find(std::int64_t id) const {
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair(id, std::uint32_t{0}));
    if (at == sorted_.end() || at->first != id) return {};
    return at->second;
  }

 private:
  std::vector<std::pair<std::int64_t, std::uint32_t>> sorted_;
};

/// What the file says: ids where CocoAnnotation has places, since the lists may come in any order.
struct Reader {
  struct Link {
    std::int64_t image_id, category_id;
  };

  void take_image(const JsonRow& row) {
    enum { id, file_name, width, height };
    CocoImage image{row.integer(id), 0, 0};
    if (row.has(width)) image.width = row.real(width);
    if (row.has(height)) image.height = row.real(height);
    if (!(image.width >= 0 && image.width < largest_pixel && image.height >= 0 && image.height < largest_pixel))
      row.fail("its width or height is no number of pixels");
    if (row.text(file_name).empty()) row.fail("'file_name' is empty");
    out.file_names.add(row.text(file_name));
    out.images.push_back(image);
  }

  void take_category(const JsonRow& row) {
    enum { id, name };
    out.categories.push_back({row.integer(id), row.text(name)});
  }

  void take_annotation(const JsonRow& row) {
    enum { id, image_id, category_id, bbox, area, iscrowd };
    const auto [x, y, width, height] = row.box(bbox);
    if (width < 0 || height < 0) row.fail("'bbox' has a negative width or height");
    for (const double value : {x, y, width, height})
      if (!(value > -largest_pixel && value < largest_pixel)) row.fail("'bbox' is far beyond any picture");
    const double outline = row.has(area) ? row.real(area) : width * height;
    const bool crowd = row.has(iscrowd) && row.flag(iscrowd);
    out.annotations.push_back({row.integer(id), 0, 0, x, y, width, height, outline, crowd});
    links.push_back({row.integer(image_id), row.integer(category_id)});
  }

  CocoInstances out;
  std::vector<Link> links;  ///< of the annotations
};

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw UserError(ExitCode::data, path + ": " + what, "mend the file, or make it again");
}

template <class List>
Places places_of(const List& list, const std::string& path, const std::string& name) {
  Places places;
  for (const auto& each : list) places.add(each.id);
  if (const auto twice = places.sort()) fail(path, name + " " + std::to_string(*twice) + ": its id is there twice");
  return places;
}

/// Puts places where ids were.
void join(Reader& reader, const std::string& path) {
  auto& out = reader.out;
  std::sort(out.categories.begin(), out.categories.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  const auto images = places_of(out.images, path, "images");
  const auto categories = places_of(out.categories, path, "categories");
  places_of(out.annotations, path, "annotations");
  for (std::size_t i = 0; i < out.annotations.size(); ++i) {
    auto& annotation = out.annotations[i];
    const auto& link = reader.links[i];
    const auto image = images.find(link.image_id), category = categories.find(link.category_id);
    const auto name = "annotations " + std::to_string(annotation.id) + ": ";
    if (!image) fail(path, name + "no image has the id " + std::to_string(link.image_id));
    if (!category) fail(path, name + "no category has the id " + std::to_string(link.category_id));
    annotation.image = *image;
    annotation.category = *category;
  }
}

}  // namespace

CocoInstances read_coco_instances(std::istream& stream, const std::string& path) {
  Reader reader;
  const std::vector<JsonList> lists{
      {"images", {"id", "file_name", "width", "height"}, [&](const JsonRow& row) { reader.take_image(row); }},
      {"categories", {"id", "name"}, [&](const JsonRow& row) { reader.take_category(row); }},
      {"annotations", {"id", "image_id", "category_id", "bbox", "area", "iscrowd"}, [&](const JsonRow& row) {
         reader.take_annotation(row);
       }}};
  const auto there = read_json_lists(stream, path, lists);
  for (std::size_t i = 0; i < 2; ++i)
    if (!there[i]) fail(path, "no list '" + lists[i].name + "': these are no COCO instances");
  join(reader, path);
  return std::move(reader.out);
}

}  // namespace flowtrain
