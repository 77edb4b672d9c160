"""A training script as PyTorch's users write them: python train_torch.py FOLDER [EPOCHS]"""

import sys

import torch
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.models import resnet18

folder, epochs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
augment = [transforms.RandomResizedCrop(56, scale=(0.6, 1)), transforms.RandomHorizontalFlip()]
plain = [transforms.Resize(64), transforms.CenterCrop(56)]
finish = [transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)]
train = ImageFolder(f"{folder}/train", transforms.Compose(augment + finish))
val = ImageFolder(f"{folder}/val", transforms.Compose(plain + finish))

torch.manual_seed(1)
net = resnet18(num_classes=len(train.classes))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
train_loader = DataLoader(train, batch_size=64, shuffle=True, num_workers=2, drop_last=True)
val_loader = DataLoader(val, batch_size=100)
for epoch in range(epochs):
    net.train()
    for images, labels in train_loader:
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        right = sum((net(images).argmax(1) == labels).sum().item() for images, labels in val_loader)
    print(f"epoch {epoch + 1}: accuracy {right / len(val):.3f}")
