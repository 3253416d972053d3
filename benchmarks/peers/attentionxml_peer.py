"""LibMultiLabel's AttentionXML over all labels at once; runs in the peer's own environment.

usage: attentionxml_peer.py FOLDER

FOLDER holds `settings.json`, the words of the rows (`words.json`), the vocabulary in the order of its ids
(`vocabulary.json`), the vectors that words start from (`vectors.npy`) and the labels as CSR parts. The
package trains AttentionXML in two levels: clusters of labels first, by a network over all of them, then
labels. Its first level is the flat model, with labels in the place of clusters: the network, its start, the
data, the batches and the trainer are the package's own, as its `PLTTrainer` puts them together, but for
validation and early stopping, so that it trains for as many epochs as it is told to.

Waits for a line on standard input before each epoch, and before it predicts, and answers each with one line
of JSON; so two processes can train in turn. Writes `top.npy` (rows, k) at the end.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import lightning
import numpy as np
import torch
from libmultilabel.nn.attentionxml import PlainDataset, PLTTrainer
from libmultilabel.nn.data_utils import PAD, UNK
from libmultilabel.nn.nn_utils import init_model, init_trainer, set_seed
from scipy import sparse


class Turns(lightning.Callback):
    """Begins each epoch when it is told to, and says how long it took."""

    def __init__(self, answers) -> None:
        self.answers, self.started = answers, 0.0

    def wait(self) -> None:
        sys.stdin.readline()
        self.started = time.perf_counter()

    def say(self, **facts: float) -> None:
        taken = time.perf_counter() - self.started
        print(json.dumps({"seconds": taken, **facts}), file=self.answers, flush=True)

    def on_train_epoch_start(self, trainer, model) -> None:
        self.wait()
        self.loss, self.batches = 0.0, 0

    def on_train_batch_end(self, trainer, model, outputs, batch, number) -> None:
        self.loss += float(outputs["loss"])
        self.batches += 1

    def on_train_epoch_end(self, trainer, model) -> None:
        self.say(loss=self.loss / self.batches)


def plt_trainer(asked: dict, vocabulary: list[str], vectors: torch.Tensor, labels: int) -> PLTTrainer:
    """The package's trainer, for what it does with data; its levels are not run."""
    config = SimpleNamespace(
        **dict.fromkeys(("multiclass", "cluster_size", "beam_width", "lr_scheduler", "scheduler_config")),
        **dict.fromkeys(("val_metric", "early_stopping_metric", "monitor_metrics", "log_path")),
        **dict.fromkeys(("predict_out_path", "patience", "metric_threshold")),
        **dict.fromkeys(("limit_train_batches", "limit_val_batches", "limit_test_batches"), 1.0),
        max_seq_length=asked["max_length"],
        network_config=network_config(asked),
        loss_function="binary_cross_entropy_with_logits",
        optimizer="adam",
        learning_rate=asked["rate"],
        momentum=0.9,
        weight_decay=0,
        cpu=True,
        epochs=asked["epochs"],
        silent=True,
        checkpoint_dir=".",
        shuffle=True,
        batch_size=asked["batch"],
        eval_batch_size=asked["batch"],
        data_workers=0,  # a worker would be a thread more
        save_k_predictions=asked["k"],
    )
    ids = {word: number for number, word in enumerate([PAD, UNK, *vocabulary])}
    return PLTTrainer(config, classes=list(range(labels)), embed_vecs=vectors, word_dict=ids)


def network_config(asked: dict) -> dict:
    return {
        "rnn_dim": 2 * asked["hidden"],
        "linear_size": asked["layers"],
        "freeze_embed_training": not asked["learn_words"],
        "rnn_layers": 1,
        "embed_dropout": asked["drop_words"],
        "encoder_dropout": 0,
        "post_encoder_dropout": asked["drop_states"],
    }


def main() -> None:
    folder = Path(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the package prints; only answers go to the standard output
    warnings.simplefilter("ignore")
    asked, words, vocabulary = (
        json.loads((folder / f"{name}.json").read_text()) for name in ("settings", "words", "vocabulary")
    )
    torch.set_num_threads(asked["threads"])
    set_seed(asked["seed"])
    data, indices, indptr, shape = (
        np.load(folder / f"labels.{part}.npy") for part in ("data", "indices", "indptr", "shape")
    )
    labels = sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))
    vectors = torch.from_numpy(np.load(folder / "vectors.npy"))
    plt = plt_trainer(asked, vocabulary, vectors, labels.shape[1])
    train, test = (plt.reformat_text([{"text": text} for text in words[name]]) for name in ("train", "test"))
    model = init_model(
        model_name="AttentionXML_0",
        network_config=plt.network_config,
        classes=plt.classes,
        embed_vecs=plt.embed_vecs,
        init_weight=plt.init_weight,
        learning_rate=plt.learning_rate,
        optimizer=plt.optimizer,
        momentum=plt.momentum,
        weight_decay=plt.weight_decay,
        loss_function=plt.loss_function,
        silent=True,
        save_k_predictions=asked["k"],
    )
    trainer = init_trainer(
        folder, epochs=plt.epochs, patience=plt.epochs, silent=True, use_cpu=True, save_checkpoints=False
    )
    turns = Turns(answers)
    trainer.callbacks.append(turns)
    trainer.fit(model, plt.dataloader(PlainDataset(train, labels), shuffle=plt.shuffle))
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    turns.wait()
    found = trainer.predict(model, plt.eval_dataloader(PlainDataset(test)))
    turns.say(peak_mb=peak)
    np.save(folder / "top.npy", np.vstack([batch["top_k_pred"] for batch in found]))


if __name__ == "__main__":
    main()
