"""Benchmark models in PyTorch, with random weights: the architectures that `warpweave models` writes, batch 1."""

import torch
from torch import nn
from torch.nn import functional


def unit(inputs, outputs, kernel=1, stride=1, groups=1, after=nn.ReLU):
    """A convolution, its normalisation, and what follows."""
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([after()] if after else []))


def classifier(features, classes=1000):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, classes))


class Sum(nn.Module):
    """Two branches, added."""

    def __init__(self, one, other, after=None):
        super().__init__()
        self.one, self.other, self.after = one, other, after or nn.Identity()

    def forward(self, x):
        return self.after(self.one(x) + self.other(x))


def resnet(groups, width):
    layers, channels = [unit(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, depth in enumerate([3, 4, 6, 3]):
        inner, outputs = (groups * width) << stage, 256 << stage
        for at in range(depth):
            stride = 2 if at == 0 and stage > 0 else 1
            branch = nn.Sequential(unit(channels, inner), unit(inner, inner, 3, stride, groups), unit(inner, outputs, after=None))
            shortcut = unit(channels, outputs, 1, stride, after=None) if at == 0 else nn.Identity()
            layers.append(Sum(branch, shortcut, after=nn.ReLU()))
            channels = outputs
    return nn.Sequential(*layers, classifier(channels))


def mobilenet():
    layers, channels = [unit(3, 32, 3, 2, after=nn.ReLU6)], 32
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expansion, outputs, depth, stride in stages:
        for at in range(depth):
            wide, step = channels * expansion, stride if at == 0 else 1
            parts = [unit(channels, wide, after=nn.ReLU6)] if expansion > 1 else []
            parts += [unit(wide, wide, 3, step, wide, nn.ReLU6), unit(wide, outputs, after=None)]
            block = nn.Sequential(*parts)
            layers.append(Sum(block, nn.Identity()) if step == 1 and channels == outputs else block)
            channels = outputs
    return nn.Sequential(*layers, unit(channels, 1280, after=nn.ReLU6), classifier(1280))


class Dense(nn.Module):
    """A layer whose result is joined to what it was given."""

    def __init__(self, channels, growth=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, 4 * growth, 1, bias=False),
            nn.BatchNorm2d(4 * growth), nn.ReLU(), nn.Conv2d(4 * growth, growth, 3, 1, 1, bias=False))

    def forward(self, x):
        return torch.cat([x, self.layers(x)], 1)


def densenet():
    layers, channels = [unit(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, depth in enumerate([6, 12, 24, 16]):
        for _ in range(depth):
            layers.append(Dense(channels))
            channels += 32
        if stage < 3:
            half = nn.Conv2d(channels, channels // 2, 1, bias=False)
            layers += [nn.BatchNorm2d(channels), nn.ReLU(), half, nn.AvgPool2d(2, 2)]
            channels //= 2
    return nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU(), classifier(channels))


def head(*widths):
    layers = [nn.Flatten()]
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return layers[:-1]


def alexnet():
    layers, channels = [], 3
    for outputs, kernel, stride, padding, pooled in [
            (64, 11, 4, 2, True), (192, 5, 1, 2, True), (384, 3, 1, 1, False), (256, 3, 1, 1, False), (256, 3, 1, 1, True)]:
        layers += [nn.Conv2d(channels, outputs, kernel, stride, padding), nn.ReLU()]
        layers += [nn.MaxPool2d(3, 2)] if pooled else []
        channels = outputs
    return nn.Sequential(*layers, *head(256 * 6 * 6, 4096, 4096, 1000))


def vgg():
    layers, channels = [], 3
    for outputs, depth in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(depth):
            layers += [nn.Conv2d(channels, outputs, 3, 1, 1), nn.ReLU()]
            channels = outputs
        layers.append(nn.MaxPool2d(2, 2))
    return nn.Sequential(*layers, *head(512 * 7 * 7, 4096, 4096, 1000))


def encoder(layers, features, heads, **options):
    layer = nn.TransformerEncoderLayer(features, heads, 4 * features, dropout=0.0, batch_first=True, **options)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


class Bert(nn.Module):
    def __init__(self, layers, features, heads):
        super().__init__()
        self.words, self.places = nn.Embedding(30522, features), nn.Embedding(512, features)
        self.kinds, self.norm = nn.Embedding(2, features), nn.LayerNorm(features)
        self.encoder = encoder(layers, features, heads, activation="gelu")

    def forward(self, tokens, kinds):
        places = self.places.weight[:tokens.shape[1]]
        return self.encoder(self.norm(self.words(tokens) + self.kinds(kinds) + places))


class Gpt(nn.Module):
    def __init__(self, positions=128, features=768):
        super().__init__()
        self.words, self.places = nn.Embedding(50257, features), nn.Embedding(1024, features)
        self.encoder = encoder(12, features, 12, activation=lambda x: functional.gelu(x, approximate="tanh"), norm_first=True)
        self.norm = nn.LayerNorm(features)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(positions))

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[:tokens.shape[1]]
        return functional.linear(self.norm(self.encoder(x, mask=self.mask, is_causal=True)), self.words.weight)


class Vit(nn.Module):
    def __init__(self, features=768):
        super().__init__()
        self.patches, self.first = nn.Conv2d(3, features, 16, 16), nn.Parameter(torch.zeros(1, 1, features))
        self.places = nn.Parameter(torch.zeros(1, 197, features))
        self.encoder = encoder(12, features, 12, activation="gelu", norm_first=True)
        self.norm, self.head = nn.LayerNorm(features), nn.Linear(features, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.encoder(x))[:, 0])


class Dlrm(nn.Module):
    def __init__(self, tables=26, features=64):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(10000, features) for _ in range(tables))
        count = tables + 1
        self.bottom = nn.Sequential(*head(13, 512, 256, features), nn.ReLU())
        self.top = nn.Sequential(*head(count * (count - 1) // 2 + features, 512, 256, 1), nn.Sigmoid())
        rows, columns = torch.tril_indices(count, count, -1)
        self.register_buffer("pairs", rows * count + columns)

    def forward(self, x, categories):
        x = self.bottom(x)
        vectors = torch.stack([x] + [table(categories[:, at]) for at, table in enumerate(self.tables)], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        return self.top(torch.cat([x, products], 1))


def image():
    return (torch.randn(1, 3, 224, 224),)


def tokens(positions, count=1):
    return lambda: tuple(torch.randint(0, 2, (1, positions)) for _ in range(count))


# Per name, the model and its inputs.
MODELS = {
    "resnet50": (lambda: resnet(1, 64), image),
    "resnext50": (lambda: resnet(32, 4), image),
    "mobilenet_v2": (mobilenet, image),
    "densenet121": (densenet, image),
    "alexnet": (alexnet, image),
    "vgg16": (vgg, image),
    "bert_base_128": (lambda: Bert(12, 768, 12), tokens(128, 2)),
    "bert_large_384": (lambda: Bert(24, 1024, 16), tokens(384, 2)),
    "gpt2": (Gpt, tokens(128)),
    "vit_b_16": (Vit, image),
    "dlrm": (Dlrm, lambda: (torch.randn(1, 13), torch.randint(0, 10000, (1, 26)))),
    "lstm_tc": (lambda: nn.LSTM(256, 256, 10), lambda: (torch.randn(100, 1, 256),)),
}
