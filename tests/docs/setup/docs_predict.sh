flowtrain configs/quickstart.toml
python3 "$fixtures" pictures drawn a:2
mkdir pictures incoming
mv drawn/a/00.png pictures/a.png
cp pictures/a.png a.jpg
mv drawn/a/01.png pictures/b.png
