"""A training script as PyTorch's users write them, with one line changed: python train_flowtrain.py FOLDER [EPOCHS]"""

import sys

import torch
from torch import nn
from flowtrain import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

folder, epochs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
augment = [transforms.RandomResizedCrop(28, scale=(0.7, 1)), transforms.RandomHorizontalFlip()]
plain = [transforms.Resize(32), transforms.CenterCrop(28)]
finish = [transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)]
train = ImageFolder(f"{folder}/train", transforms.Compose(augment + finish))
val = ImageFolder(f"{folder}/val", transforms.Compose(plain + finish))

torch.manual_seed(1)
layers = [layer for inputs, outputs in ((3, 32), (32, 64), (64, 128))
          for layer in (nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2))]
net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 3 * 3, len(train.classes)))
optimizer = torch.optim.Adam(net.parameters(), lr=0.002)
train_loader = DataLoader(train, batch_size=64, shuffle=True, num_workers=2, drop_last=True)
val_loader = DataLoader(val, batch_size=100)
for epoch in range(epochs):
    net.train()
    for images, labels in train_loader:
        loss = nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        right = sum((net(images).argmax(1) == labels).sum().item() for images, labels in val_loader)
    print(f"epoch {epoch + 1}: accuracy {right / len(val):.3f}")
