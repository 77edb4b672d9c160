// flowtrain pack CONFIG --out FOLDER

#include "pipeline/tools/pack/pack.h"

#include "pipeline/commands/flags.h"

namespace flowtrain::commands {

int pack(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Writes a configuration's training and validation data as WebDataset tar shards:\n"
      "FOLDER/train/train-000000.tar and so on, for data.dataset = \"webdataset\" and data.path = FOLDER.\n"
      "Picture files keep their bytes; stored pixels become PNG files, texts and arrays .txt and .npy files.\n"
      "Equal data give equal shards.",
      "flowtrain pack");
  ConfigFlags flags(app);
  PackOptions options;
  std::string out, split = "both", format = "keep";
  std::uint64_t shard_mb = 256, seed = 0;
  add_path(app, "--out", out, "write to this folder, which is new or empty")->required();
  app.add_option("--split", split, "pack train, val or both (default)")->check(CLI::IsMember({"train", "val", "both"}));
  auto* mb = app.add_option("--shard-mb", shard_mb, "limit a shard to so many MiB; default 256")
                 ->check(CLI::Range(1, 1 << 20));
  app.add_option("--shard-samples", options.limits.samples, "limit a shard to so many samples instead")
      ->check(counts_from_one("samples"))
      ->excludes(mb);
  auto* shuffle = app.add_option("--shuffle", seed, "write samples in the random order of this seed");
  app.add_flag("--sort", options.sort, "sort samples by label")->excludes(shuffle);
  app.add_option("--resize", options.pictures.edge,
                 "shrink larger pictures to a shorter edge of so many pixels (antialiased), and encode them again")
      ->check(CLI::Range(1, 65535));
  app.add_option("--encode", format,
                 "encode all pictures again as jpeg, png or webp; keep (default) encodes only those that must be")
      ->check(CLI::IsMember({"jpeg", "png", "webp", "keep"}));
  app.add_option("--quality", options.pictures.quality, "set the quality of encoded JPEG and WebP files; default 90")
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
