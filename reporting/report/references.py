"""References of a report, with reasons, as BibTeX: only those that its numbers use."""

from collections.abc import Iterator, Mapping
from typing import Any

ENTRIES = {
    "separability": """@inproceedings{ghosh2024despair,
  title = {Compare without Despair: Reliable Preference Evaluation with Generation Separability},
  author = {Ghosh, Sayan and Srinivasan, Tejas and Swayamdipta, Swabha},
  booktitle = {Findings of the Association for Computational Linguistics: EMNLP 2024},
  pages = {12787--12805},
  year = {2024},
  doi = {10.18653/v1/2024.findings-emnlp.747}
}""",
    "alternative_annotator": """@inproceedings{calderon2025alternative,
  title = {The Alternative Annotator Test for {LLM}-as-a-Judge: How to Statistically Justify Replacing Human Annotators with {LLMs}},
  author = {Calderon, Nitay and Reichart, Roi and Dror, Rotem},
  booktitle = {Proceedings of the 63rd Annual Meeting of the Association for Computational Linguistics (Volume 1: Long Papers)},
  pages = {16051--16081},
  year = {2025}
}""",
    "bradley_terry": """@article{bradley1952rank,
  title = {Rank Analysis of Incomplete Block Designs: {I}. The Method of Paired Comparisons},
  author = {Bradley, Ralph Allan and Terry, Milton E.},
  journal = {Biometrika},
  volume = {39},
  number = {3/4},
  pages = {324--345},
  year = {1952},
  doi = {10.2307/2334029}
}""",
    "elo": """@book{elo1978rating,
  title = {The Rating of Chessplayers, Past and Present},
  author = {Elo, Arpad E.},
  publisher = {Arco},
  year = {1978}
}""",
    "krippendorff": """@book{krippendorff2018content,
  title = {Content Analysis: An Introduction to Its Methodology},
  author = {Krippendorff, Klaus},
  edition = {4},
  publisher = {Sage},
  year = {2018}
}""",
    "dawid_skene": """@article{dawid1979maximum,
  title = {Maximum Likelihood Estimation of Observer Error-Rates Using the {EM} Algorithm},
  author = {Dawid, A. P. and Skene, A. M.},
  journal = {Journal of the Royal Statistical Society. Series C (Applied Statistics)},
  volume = {28},
  number = {1},
  pages = {20--28},
  year = {1979},
  doi = {10.2307/2346806}
}""",
    "holm": """@article{holm1979simple,
  title = {A Simple Sequentially Rejective Multiple Test Procedure},
  author = {Holm, Sture},
  journal = {Scandinavian Journal of Statistics},
  volume = {6},
  number = {2},
  pages = {65--70},
  year = {1979}
}""",
    "benjamini_yekutieli": """@article{benjamini2001control,
  title = {The Control of the False Discovery Rate in Multiple Testing under Dependency},
  author = {Benjamini, Yoav and Yekutieli, Daniel},
  journal = {The Annals of Statistics},
  volume = {29},
  number = {4},
  pages = {1165--1188},
  year = {2001},
  doi = {10.1214/aos/1013699998}
}""",
    "prediction_powered": """@article{angelopoulos2023ppi,
  title = {{PPI++}: Efficient Prediction-Powered Inference},
  author = {Angelopoulos, Anastasios N. and Duchi, John C. and Zrnic, Tijana},
  journal = {arXiv preprint arXiv:2311.01453},
  year = {2023}
}""",
    "active": """@inproceedings{zrnic2024active,
  title = {Active Statistical Inference},
  author = {Zrnic, Tijana and Cand{\\`e}s, Emmanuel J.},
  booktitle = {Proceedings of the 41st International Conference on Machine Learning},
  year = {2024}
}""",
    "length": """@article{dubois2024length,
  title = {Length-Controlled {AlpacaEval}: A Simple Way to Debias Automatic Evaluators},
  author = {Dubois, Yann and Galambosi, Bal{\\'a}zs and Liang, Percy and Hashimoto, Tatsunori B.},
  journal = {arXiv preprint arXiv:2404.04475},
  year = {2024}
}""",
    "rouge": """@inproceedings{lin2004rouge,
  title = {{ROUGE}: A Package for Automatic Evaluation of Summaries},
  author = {Lin, Chin-Yew},
  booktitle = {Text Summarization Branches Out},
  pages = {74--81},
  year = {2004}
}""",
    "bleu": """@inproceedings{papineni2002bleu,
  title = {{B}leu: a Method for Automatic Evaluation of Machine Translation},
  author = {Papineni, Kishore and Roukos, Salim and Ward, Todd and Zhu, Wei-Jing},
  booktitle = {Proceedings of the 40th Annual Meeting of the Association for Computational Linguistics},
  pages = {311--318},
  year = {2002},
  doi = {10.3115/1073083.1073135}
}""",
    "chrf": """@inproceedings{popovic2015chrf,
  title = {chr{F}: character n-gram {F}-score for automatic {MT} evaluation},
  author = {Popovi{\\'c}, Maja},
  booktitle = {Proceedings of the Tenth Workshop on Statistical Machine Translation},
  pages = {392--395},
  year = {2015},
  doi = {10.18653/v1/W15-3049}
}""",
    "bertscore": """@inproceedings{zhang2020bertscore,
  title = {{BERTScore}: Evaluating Text Generation with {BERT}},
  author = {Zhang, Tianyi and Kishore, Varsha and Wu, Felix and Weinberger, Kilian Q. and Artzi, Yoav},
  booktitle = {International Conference on Learning Representations},
  year = {2020}
}""",
}


def cited(findings: Mapping[str, Any]) -> list[str]:
    """Return the keys of ENTRIES that findings rest on."""
    return [key for key in ENTRIES if key in set(_reasons(findings))]


def _reasons(findings: Mapping[str, Any]) -> Iterator[str]:
    yield "krippendorff"
    for item in findings["configurations"]:
        if item["separability"] is not None:
            yield "separability"
            yield from (
                key for key in ("rouge", "bleu", "chrf", "bertscore") if key in item["separability"]["similarity"]
            )
    yield from (
        key for ranking in findings["rankings"] for key in ("bradley_terry", "elo") if ranking["measure"].endswith(key)
    )
    if findings["replacement"]:
        yield "alternative_annotator"
    if any(judge["alternative_annotator"]["tested"] for judge in findings["replacement"]):
        yield "benjamini_yekutieli"
    if any(item["n_judged"] for judge in findings["replacement"] for item in judge["prediction_powered"]):
        yield "prediction_powered"
    if any(item["weighted"] for judge in findings["replacement"] for item in judge["prediction_powered"]):
        yield "active"
    if any(item["of"] > 1 for item in (*findings["judge_tests"], *findings["system_tests"])):
        yield "holm"
    if findings["dawid_skene"].get("raters"):
        yield "dawid_skene"
    if findings["length_adjusted"]:
        yield "length"


def bibtex(keys: list[str], version: str) -> str:
    """Return the entries of these, and of this software in its version."""
    # BibTeX itself has no entry of software.
    software = (
        "@misc{tandem,\n  author = {{The Tandem contributors}},\n"
        f"  title = {{Tandem: human and judge preferences on the very same pairs}},\n  note = {{Software, version {version}}}\n}}"
    )
    return "\n\n".join([*(ENTRIES[key] for key in keys), software]) + "\n"
