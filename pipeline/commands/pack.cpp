// flowtrain pack CONFIG --out FOLDER

#include "pipeline/tools/pack/pack.h"

#include "pipeline/commands/flags.h"

namespace flowtrain::commands {

int pack(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Writes a configuration's training and validation data as WebDataset tar shards:\n"
      "FOLDER/train/train-000000.tar and so on, for data.dataset = \"webdataset\" and data.path = FOLDER.\n"
      "Picture files keep their bytes, pixels become PNG files. Equal data make equal shards.",
      "flowtrain pack");
  ConfigFlags flags(app);
  PackOptions options;
  std::string out, split = "both", format = "keep";
  std::uint64_t shard_mb = 256, seed = 0;
  add_path(app, "--out", out, "the folder to write to; new or empty")->required();
  app.add_option("--split", split, "train, val or both (default)")->check(CLI::IsMember({"train", "val", "both"}));
  auto* mb =
      app.add_option("--shard-mb", shard_mb, "MiB of a shard, at most; default 256")->check(CLI::Range(1, 1 << 20));
  app.add_option("--shard-samples", options.limits.samples, "samples of a shard, instead")
      ->check(counts_from_one("samples"))
      ->excludes(mb);
  auto* shuffle = app.add_option("--shuffle", seed, "in the random order of this seed; default: as they are stored");
  app.add_flag("--sort", options.sort, "by label")->excludes(shuffle);
  app.add_option("--resize", options.pictures.edge,
                 "bring the shorter edge of larger pictures down to so many pixels (antialiased), and write these anew")
      ->check(CLI::Range(1, 65535));
  app.add_option("--encode", format, "jpeg, png or webp: write all pictures anew; keep (default): only what must be")
      ->check(CLI::IsMember({"jpeg", "png", "webp", "keep"}));
  app.add_option("--quality", options.pictures.quality, "of JPEG and WebP files that are written; default 90")
      ->check(CLI::Range(1, 100));
  if (!parse(app, arguments)) return 0;

  options.out = out;
  options.train = split != "val";
  options.val = split != "train";
  if (options.limits.samples == 0) options.limits.bytes = shard_mb << 20;
  if (*shuffle) options.shuffle = seed;
  if (format == "jpeg") options.pictures.format = FileFormat::jpeg;
  if (format == "png") options.pictures.format = FileFormat::png;
  if (format == "webp") options.pictures.format = FileFormat::webp;
  return flowtrain::pack(load_for_use(flags.start()), options, interrupt);
}

}  // namespace flowtrain::commands
