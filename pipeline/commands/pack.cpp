// flowtrain pack CONFIG --out FOLDER

#include "pipeline/tools/pack/pack.h"

#include "pipeline/commands/flags.h"
#include "sampling/tokens/tokenizer.h"

namespace flowtrain::commands {

int pack(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Writes a configuration's training and validation data as WebDataset tar shards:\n"
      "FOLDER/train/train-000000.tar and so on, for data.dataset = \"webdataset\" and data.path = FOLDER.\n"
      "Files of pictures and recordings keep their bytes; stored pixels become PNG files, texts and arrays .txt and "
      ".npy files.\n"
      "Equal data give equal shards.\n"
      "With --tokens it writes texts as shards of token ids instead, for data.dataset = \"tokens\"; the same command\n"
      "continues a packing that was stopped.",
      "flowtrain pack");
  ConfigFlags flags(app);
  PackOptions options;
  std::string out, split = "both", format = "keep";
  std::uint64_t shard_mb = 0, seed = 0;
  TokenPacking tokens;
  add_path(app, "--out", out, "write to this folder, which is new or empty")->required();
  app.add_option("--split", split, "pack train, val or both (default)")->check(CLI::IsMember({"train", "val", "both"}));
  auto* mb = app.add_option("--shard-mb", shard_mb, "limit a shard to so many MiB; default 256, of tokens 64")
                 ->check(CLI::Range(1, 1 << 20));
  app.add_option("--shard-samples", options.limits.samples, "limit a shard to so many samples or documents instead")
      ->check(counts_from_one("samples"))
      ->excludes(mb);
  auto* shuffle = app.add_option("--shuffle", seed, "write samples in the random order of this seed");
  auto* sort = app.add_flag("--sort", options.sort, "sort samples by label")->excludes(shuffle);
  auto* resize =
      app.add_option("--resize", options.pictures.edge,
                     "shrink larger pictures to a shorter edge of so many pixels (antialiased), and encode them again")
          ->check(CLI::Range(1, 65535));
  auto* encode =
      app.add_option("--encode", format,
                     "encode all pictures again as jpeg, png or webp; keep (default) encodes only those that must be")
          ->check(CLI::IsMember({"jpeg", "png", "webp", "keep"}));
  auto* quality = app.add_option("--quality", options.pictures.quality,
                                 "set the quality of encoded JPEG and WebP files; default 90")
                      ->check(CLI::Range(1, 100));
  auto* flac = app.add_flag("--flac", options.flac,
                            "store WAV recordings as FLAC files of the same samples; recordings keep their bytes "
                            "otherwise");
  auto* tokenizer = add_path(app, "--tokens", tokens.tokenizer,
                             "encode texts by this tokenizer: a tokenizer.json, a rank file, a SentencePiece model, or "
                             "bytes")
                        ->excludes(sort)
                        ->excludes(resize)
                        ->excludes(encode)
                        ->excludes(quality)
                        ->excludes(flac);
  app.add_option("--part", tokens.part, "encode this part of the samples; default: their only text")->needs(tokenizer);
  app.add_option(
         "--end", tokens.end,
         "put this special token after each document, or none; default: <|endoftext|>, or what the tokenizer has "
         "for it")
      ->needs(tokenizer);
  app.add_option("--pattern", tokens.pattern, "split texts by this pattern of a rank file, which does not say its own")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(pattern_names), std::end(pattern_names))))
      ->needs(tokenizer);
  if (!parse(app, arguments)) return 0;

  options.out = out;
  options.train = split != "val";
  options.val = split != "train";
  if (*tokenizer) options.tokens = tokens;
  if (shard_mb == 0) shard_mb = *tokenizer ? 64 : 256;
  if (options.limits.samples == 0) options.limits.bytes = shard_mb << 20;
  if (*shuffle) options.shuffle = seed;
  if (format == "jpeg") options.pictures.format = FileFormat::jpeg;
  if (format == "png") options.pictures.format = FileFormat::png;
  if (format == "webp") options.pictures.format = FileFormat::webp;
  return flowtrain::pack(load_for_use(flags.start()), options, interrupt);
}

}  // namespace flowtrain::commands
