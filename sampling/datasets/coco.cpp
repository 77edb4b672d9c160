#include "sampling/datasets/coco.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "sampling/class_names.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/odd_boxes.h"
#include "sampling/datasets/split_names.h"
#include "sampling/fingerprint.h"

namespace flowtrain {
namespace {

constexpr std::string_view list_start = "annotations/instances_", list_ending = ".json";

/// Returns the splits whose annotations have the usual names.
std::vector<std::string> known_splits(const Files& files) {
  std::vector<std::string> known;
  const auto [first, last] = files.range(list_start);
  for (auto file = first; file < last; ++file) {
    const auto name = files.name(file);
    if (name.ends_with(list_ending))
      known.emplace_back(name.substr(list_start.size(), name.size() - list_start.size() - list_ending.size()));
  }
  return known;
}

Box box_of(const CocoAnnotation& annotation, bool marks_crowds) {
  return {static_cast<float>(annotation.x),
          static_cast<float>(annotation.y),
          static_cast<float>(annotation.x + annotation.width),
          static_cast<float>(annotation.y + annotation.height),
          static_cast<std::int32_t>(annotation.category),
          annotation.crowd && marks_crowds};
}

/// Sorts the annotations by image, by label, then as in the file.
std::vector<std::uint32_t> box_order(const CocoInstances& instances) {
  const auto& all = instances.annotations;
  std::vector<std::uint32_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    if (all[a].image != all[b].image) return all[a].image < all[b].image;
    return all[a].category != all[b].category ? all[a].category < all[b].category : a < b;
  });
  return order;
}

}  // namespace

Coco::Coco(const Settings& settings, const DatasetInput& input) : files_(open_files(settings)) {
  const auto split = find_annotations(settings, input.training);
  const auto instances = this->instances();
  for (const auto& category : instances.categories) classes_.push_back(category.name);
  if (instances.images.empty()) throw EmptyDataset(files_.describe(annotations_) + ": the file lists no images");
  add(instances, find_pictures(settings, split, instances), settings);
  if (pictures_.empty())
    throw EmptyDataset(files_.describe(annotations_) + ": no image has a box", "set data.empty = \"keep\"");
}

/// Returns the split.
std::string Coco::find_annotations(const Settings& settings, bool training) {
  const auto &given = settings.text("split"), &file = settings.text("annotations");
  auto split = given.empty() ? training ? "train2017" : "val2017" : given;
  const auto lists = known_splits(files_);
  if (file.empty()) split = choose_list(lists, given, split, training).value_or(split);
  const auto name = file.empty() ? concat(list_start, split, list_ending) : file;
  const auto found = files_.find(name);
  if (!found)
    throw settings.error(
        file.empty() ? "split" : "annotations", "no " + name + " in " + settings.text("path"), ExitCode::data,
        lists.empty()
            ? "set data.annotations to the file's name below data.path"
            : concat("splits there: ", listed_classes(lists), "; data.val_share = 0.1 splits the training data"));
  annotations_ = *found;
  if (training && file.empty()) notes_ = notes_on_lists(lists, nullptr);
  return split;
}

std::shared_ptr<const BoxAnnotations> Coco::annotations() const {
  auto all = std::make_shared<BoxAnnotations>();
  all->instances = instances();
  for (auto& picture : pictures_) all->image_ids.push_back(picture.image_id);
  return all;
}

CocoInstances Coco::instances() const {
  CocoInstances instances;
  files_.stream(annotations_,
                [&](std::istream& stream) { instances = read_coco_instances(stream, files_.describe(annotations_)); });
  return instances;
}

std::vector<std::uint32_t> Coco::files_below(const std::string& folder, const Names& names) const {
  std::vector<std::uint32_t> files(names.size(), missing);
  for (std::size_t i = 0; i < names.size(); ++i)
    for (const auto name : {trimmed(names[i]), names[i]}) {  // blanks count only if a file has them
      const auto path = std::filesystem::path(folder).append(name).lexically_normal().string();
      if (const auto file = picture_files().find(path)) files[i] = static_cast<std::uint32_t>(*file);
    }
  return files;
}

/// Finds the file of each image. A missing one affects only its sample, but not all may be missing.
std::vector<std::uint32_t> Coco::find_pictures(const Settings& settings, const std::string& split,
                                               const CocoInstances& instances) {
  auto given = settings.text("pictures");
  std::vector<std::string> folders{split + "/", "images/" + split + "/", "images/", ""};
  if (given.ends_with(".tar") && files_.find(given))
    archive_ = std::make_unique<Files>(files_.describe(given));
  else if (!given.empty())
    folders = {given.ends_with('/') ? given : given + '/'};
  for (const auto& folder : folders) {
    auto files = files_below(folder, instances.file_names);
    const auto found = files.size() - static_cast<std::size_t>(std::count(files.begin(), files.end(), missing));
    if (found > 0) return files;
  }
  const auto shown = [](const std::string& folder) { return folder.empty() ? "./" : folder; };
  throw settings.error(given.empty() ? "path" : "pictures",
                       "no image exists, for example " + std::string(instances.file_names[0]) + "; searched in " +
                           join(folders, ", ", shown),
                       ExitCode::data, "set data.pictures to their folder or .tar below data.path");
}

void Coco::add(const CocoInstances& instances, const std::vector<std::uint32_t>& files, const Settings& settings) {
  const bool drops_crowds = settings.text("crowd") == "drop", marks_crowds = settings.text("crowd") == "mark";
  const bool drops_empty = settings.text("empty") == "drop";
  const auto order = box_order(instances);
  const auto whole = [](double side) { return static_cast<std::uint32_t>(std::lround(side)); };
  OddBoxes all_odd;
  std::string first_odd;
  auto next = order.begin();
  for (std::uint32_t i = 0; i < instances.images.size(); ++i) {
    const auto& image = instances.images[i];
    Picture picture{image.id,          files[i], static_cast<std::uint32_t>(boxes_.size()), 0, whole(image.height),
                    whole(image.width)};
    OddBoxes odd;
    for (; next != order.end() && instances.annotations[*next].image == i; ++next) {
      const auto& annotation = instances.annotations[*next];
      if (annotation.crowd && drops_crowds) continue;
      const auto box = box_of(annotation, marks_crowds);
      if (odd.keeps(box, image.width, image.height)) boxes_.push_back(box);
    }
    picture.left_out = odd.left_out();
    all_odd += odd;
    if (first_odd.empty() && (odd.left_out() > 0 || odd.beyond > 0)) first_odd = instances.file_names[i];
    if (drops_empty && boxes_.size() == picture.first_box) continue;
    if (picture.file == missing) missing_names_[pictures_.size()] = instances.file_names[i];
    pictures_.push_back(picture);
  }
  all_odd.report(files_.describe(annotations_), first_odd);
  pictures_.shrink_to_fit();
  boxes_.shrink_to_fit();
}

Record Coco::read(std::uint64_t id, ReadBuffer& buffer) const {
  const auto& picture = pictures_[id];
  if (picture.file == missing) throw SampleError(missing_names_.at(id) + ": the image does not exist");
  picture_files().read(picture.file, buffer.bytes);
  const std::size_t end = id + 1 < pictures_.size() ? pictures_[id + 1].first_box : boxes_.size();
  return {.id = id,
          .encoding = Encoding::image,
          .bytes = buffer.bytes,
          .height = picture.height,
          .width = picture.width,
          .boxes = std::span(boxes_).subspan(picture.first_box, end - picture.first_box)};
}

std::string Coco::describe(std::uint64_t id) const {
  const auto& picture = pictures_[id];
  auto path = picture.file == missing ? missing_names_.at(id) : picture_files().describe(picture.file);
  if (picture.left_out == 0) return path;
  return path + " (boxes left out: " + std::to_string(picture.left_out) + ")";
}

std::uint64_t Coco::fingerprint() const {
  std::uint64_t all = fingerprint_of(std::span(boxes_));
  for (auto& picture : pictures_) {
    all = fingerprint_of(picture.first_box, all);
    if (picture.file != missing) all = fingerprint_of(picture_files().name(picture.file), all);
  }
  return all;
}

std::uint64_t Coco::version() const {
  std::uint64_t all = fingerprint();
  for (auto& picture : pictures_)
    if (picture.file != missing) all = picture_files().version(picture.file, all);
  return all;
}

DatasetEntry coco_entry() {
  return {.name = "coco",
          .help =
              "MS COCO images and boxes, in a folder or a .tar. split: train2017 and so on; default: train2017, "
              "or val2017 for validation, else the one list that is named after the split",
          .keys = {{"annotations", Kind::text, std::string(),
                    "path of the annotation file, below path; default: annotations/instances_<split>.json"},
                   {"pictures", Kind::text, std::string(),
                    "folder or .tar of the images, below path; default: the first of <split>/, images/<split>/, "
                    "images/ and path itself that has some of them"},
                   {.name = "crowd",
                    .kind = Kind::text,
                    .fallback = std::string("keep"),
                    .help = "use of boxes around crowds: train on them as on others, drop them, or mark them as to be "
                            "ignored, for samplers that support marks",
                    .choices = {"keep", "drop", "mark"}},
                   {.name = "empty",
                    .kind = Kind::text,
                    .fallback = std::string("keep"),
                    .help = "use of images without boxes: keep or drop them",
                    .choices = {"keep", "drop"}}},
          .make = [](const Settings& settings, const DatasetInput& input) -> std::unique_ptr<Dataset> {
            return std::make_unique<Coco>(settings, input);
          }};
}

}  // namespace flowtrain
