python3 "$fixtures" coco coco
