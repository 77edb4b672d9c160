#pragma once
// Pictures to train on, one of them torn.

#include "tests/support/pictures.h"
#include "tests/support/temp_run.h"

namespace flowtrain {

/// A file's content, as TempFolder::write() takes it.
inline std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// 24 JPEGs of two classes in `folder`/pictures/{train,val}; of one training picture only the first half is there.
inline void write_pictures(const TempFolder& folder) {
  const std::string whole = text_of(encode_jpeg(gradient_picture(24, 24, 3)));
  for (const std::string split : {"train", "val"})
    for (int i = 0; i < 24; ++i) {
      const bool torn = split == "train" && i == 5;
      folder.write("pictures/" + split + (i % 2 ? "/cat/" : "/dog/") + std::to_string(i) + ".jpg",
                   torn ? whole.substr(0, whole.size() / 2) : whole);
    }
}

/// What trains on them, with without_shapes().
inline const Words picture_count{"--set", "data.dataset=image_folder",
                                 "--set", "data.path=pictures",
                                 "--set", "sampler.size=16",
                                 "--set", "val.every=0",
                                 "--set", "run.max_iter=10"};

/// tiny_config without the keys of its data set.
inline std::string without_shapes() {
  std::string text = tiny_config;
  const auto begin = text.find("samples = 300"), end = text.find("[loader]");
  return text.erase(begin, end - begin);
}

}  // namespace flowtrain
