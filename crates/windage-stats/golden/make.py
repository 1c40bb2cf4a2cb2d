#!/usr/bin/env python3
"""Computes values.json: the results of scipy, statsmodels and others for a few series.

The tests of windage-stats compare their estimators with it, and need no Python. How to run it
is in README.md.
"""

import json
import pathlib
import platform
import re

import numpy as np
import pandas
import scipy
import statsmodels
import statsmodels.api as sm
from scipy import cluster, fft, integrate, optimize, stats
from scipy.stats import mstats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

TRIMMED_SHARE = 0.2
HUBER_TUNING = 1.345


def series():
    """Small ones, ties, heavy tails, trends, correlation; figures of six decimals."""
    random = np.random.default_rng(20261121)

    def autoregressive(coefficient, count):
        values = [random.normal()]
        for _ in range(count - 1):
            values.append(coefficient * values[-1] + random.normal())
        return np.array(values)

    made = {
        "two": [0.013, -0.004],
        "two_others": [0.4, 0.1],
        "three": [0.013, -0.004, 0.021],
        "one_wild_of_ten": [1.0, 4.0, 3.0, 2.0, 100.0, 5.0, 7.0, 6.0, 9.0, 8.0],
        "ties": [0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 0.0, 3.0, 1.0, 1.0, 5.0, 2.0],
        "constant": [0.25] * 7,
        "normal": 0.01 + 0.02 * random.normal(size=51),
        "heavy_tails": 0.01 * random.standard_t(3, size=51),
        "outliers": 0.02 * random.normal(size=200) + (random.random(200) < 0.05) * 0.5,
        "autoregressive": 0.01 * autoregressive(0.6, 200),
        "trend": 0.001 * np.arange(51) + 0.01 * random.normal(size=51),
        "two_modes": 0.01 * random.normal(size=40) + np.where(np.arange(40) % 2, 0.05, -0.05),
        "cold_start": random.uniform(-0.01, 0.01, 60) + 0.012 * (np.arange(60) < 6),
    }
    return {name: np.round(np.asarray(values, float), 6) for name, values in made.items()}


def walsh_averages(x):
    i, j = np.triu_indices(len(x))
    return (x[i] + x[j]) / 2


def huber(x):
    """Huber's M-estimate of location, the scale held at the normalised MAD about the median."""
    scale = stats.median_abs_deviation(x, scale="normal")
    if scale == 0:
        return None
    norm = sm.robust.norms.HuberT(t=HUBER_TUNING)
    return sm.robust.norms.estimate_location(x, scale, norm=norm, maxiter=2000, tol=1e-14)


def long_run_variances(x):
    """Equal-weighted cosine estimates: means of the first squared coefficients of the discrete
    cosine transform."""
    coefficients = fft.dct(x, type=2, norm="ortho")
    most = min(len(x) - 1, 80)
    return [np.mean(coefficients[1 : 1 + cosines] ** 2) for cosines in range(1, most + 1)]


def of_one_series(x):
    winsorised = np.asarray(
        mstats.winsorize(x, limits=(TRIMMED_SHARE, TRIMMED_SHARE), inclusive=(True, True))
    )
    return {
        "mean": np.mean(x),
        "median": np.median(x),
        "standard_deviation": np.std(x, ddof=1),
        "sample_variance": np.var(x, ddof=1),
        "normal_median_absolute_deviation": stats.median_abs_deviation(x, scale="normal"),
        "trimmed_mean": stats.trim_mean(x, TRIMMED_SHARE),
        "trimmed_mean_standard_error": mstats.trimmed_stde(
            x, limits=(TRIMMED_SHARE, TRIMMED_SHARE), inclusive=(True, True)
        ),
        "winsorised": winsorised,
        "hodges_lehmann": np.median(walsh_averages(x)),
        "huber": huber(x),
        "long_run_variance_by_cosines": long_run_variances(x),
        "student_interval_95": stats.ttest_1samp(x, 0).confidence_interval(0.95),
        "over_time": over_time(x),
        "line": line(x),
    }


def over_time(x):
    """Of series without outliers: the trend by the first cosine, and whether the first tenth is
    like the rest."""
    reach = 3 * stats.median_abs_deviation(x, scale="normal")
    if len(x) < 25 or np.any(np.abs(x - np.median(x)) > reach):
        return None
    of_values, of_line = (fft.dct(v, type=2, norm="ortho") for v in (x, np.arange(len(x))))
    cosines = len(x) // 5
    noise = np.sqrt(np.mean(of_values[2 : cosines + 1] ** 2))
    first = max(len(x) // 10, 3)
    stretches = x[: len(x) // first * first].reshape(-1, first).mean(axis=1)
    is_first = (np.arange(len(stretches)) == 0).astype(float)
    onset = sm.OLS(stretches, sm.add_constant(is_first)).fit()
    return {
        "change_by_first_cosine": of_values[1] / of_line[1] * len(x),
        "change_p": 2 * stats.t.sf(abs(of_values[1]) / noise, cosines - 1),
        "first_excess": np.median(x[:first]) - np.median(x[first:]),
        "first_p": onset.pvalues[1],
    }


def line(x):
    """Least squares on 0, 1, 2, …"""
    if len(x) < 6:
        return None
    fit = stats.linregress(np.arange(len(x)), x)
    return {"change": fit.slope * (len(x) - 1), "p": fit.pvalue}


def two_kinds(x):
    """Means and sizes of two clusters."""
    means, kind = cluster.vq.kmeans2(x, np.array([x.min(), x.max()]), iter=100, minit="matrix")
    return {"means": means, "sizes": np.bincount(kind, minlength=2).tolist()}


def of_two_series(x, y):
    welch = stats.ttest_ind(x, y, equal_var=False)
    yuen = stats.ttest_ind(x, y, equal_var=False, trim=TRIMMED_SHARE)
    return {
        "welch_difference": np.mean(x) - np.mean(y),
        "welch_degrees": welch.df,
        "welch_interval_95": welch.confidence_interval(0.95),
        "yuen_difference": stats.trim_mean(x, TRIMMED_SHARE) - stats.trim_mean(y, TRIMMED_SHARE),
        "yuen_t": yuen.statistic,
        "yuen_degrees": yuen.df,
        "yuen_p": yuen.pvalue,
    }


def launches():
    """Blocks of several launches: even ones, and a set with hardly any launch luck."""
    random = np.random.default_rng(4)

    def drawn(rounds, blocks, launch_deviation, block_deviation):
        luck = launch_deviation * random.normal(size=(rounds, 1))
        return np.round(0.01 + luck + block_deviation * random.normal(size=(rounds, blocks)), 6)

    return {
        "luck": drawn(8, 17, 0.02, 0.02),
        "hardly_any_luck": drawn(5, 30, 0.0001, 0.02),
        "three": drawn(3, 10, 0.01, 0.01),
        "pairs": drawn(6, 2, 0.02, 0.01),
        "pairs_without_luck": drawn(6, 2, 0.0, 0.01),
    }


def of_launches(values):
    rounds, blocks = values.shape
    frame = {
        "value": values.ravel(),
        "launch": np.repeat(np.arange(rounds).astype(str), blocks),
    }
    table = anova_lm(ols("value ~ C(launch)", pandas.DataFrame(frame)).fit())
    between, within = table["mean_sq"]["C(launch)"], table["mean_sq"]["Residual"]
    return {
        "values": values,
        "means": values.mean(axis=1),
        "interval_of_means_95": stats.ttest_1samp(values.mean(axis=1), 0).confidence_interval(),
        "mean_square_between": between,
        "mean_square_within": within,
        "launch_variance": (between - within) / blocks,
    }


def student_quantiles():
    return [
        {"degrees": degrees, "confidence": confidence,
         "quantile": stats.t.ppf(0.5 + confidence / 2, degrees)}
        for degrees in [1, 2, 3, 4.7, 8, 12.5, 24, 100, 1000]
        for confidence in [0.90, 0.95, 0.99, 1 - 0.05 / 7]
    ]


def simultaneous():
    """The confidence of each of several comparisons under Bonferroni's rule."""
    return [
        {"confidence": confidence, "comparisons": comparisons,
         "each": 1 - multipletests([1.0] * comparisons, 1 - confidence, "bonferroni")[3]}
        for confidence in [0.90, 0.95, 0.99]
        for comparisons in [1, 2, 7, 100]
    ]


def differences():
    """Of shares: Newcombe's hybrid score interval, which recovers its sides from two of Wilson's."""
    found = []
    for hits, of, other_hits, other_of in [
        (56, 70, 48, 80), (9, 10, 3, 10), (5, 56, 0, 29), (0, 10, 0, 20), (1, 1000, 7, 400),
        (4999, 5000, 17, 30),
    ]:
        low, high = confint_proportions_2indep(
            hits, of, other_hits, other_of, compare="diff", method="newcomb",
        )
        found.append({
            "one": [hits, of], "other": [other_hits, other_of], "interval_95": [low, high],
        })
    return found


def log_bayes_factor(t, count, variance):
    """Of a normal prior on the effect size against zero, from the likelihood integrated over
    effect size and, with the right Haar prior 1/sigma, over the scale: sufficient statistics are a
    mean of t/sqrt(count) and a sample variance of 1. The integral over effect size is taken
    numerically, for each scale, and so is that over scales."""
    mean, degrees = t / np.sqrt(count), count - 1
    prior = stats.norm(0, np.sqrt(variance))

    def likelihood(log_scale, effect):
        scale = np.exp(log_scale)
        square = degrees / scale**2 + count * (mean / scale - effect) ** 2
        return -count * log_scale - square / 2

    peak = likelihood(np.log(np.sqrt((degrees + t * t) / count)), 0.0)
    tightly = {"epsabs": 0, "epsrel": 1e-12, "limit": 400}

    def over_scales(effect):
        best = optimize.minimize_scalar(
            lambda s: -likelihood(s, effect), bounds=(-8, 8), method="bounded"
        ).x
        width = 12 / np.sqrt(count)
        return integrate.quad(
            lambda s: np.exp(likelihood(s, effect) - peak),
            best - 2 * width, best + 3 * width, points=[best], **tightly,
        )[0]

    centre = mean
    width = 14 / np.sqrt(count) * np.sqrt(1 + mean * mean)
    against = integrate.quad(
        lambda d: over_scales(d) * prior.pdf(d),
        centre - width, centre + width, points=[0.0, centre], **tightly,
    )[0]
    return np.log(against) - np.log(over_scales(0.0))


def sequence_radii():
    """Radii at which the Bayes factor of a normal prior of variance 1 on the effect size reaches
    1/alpha, as multiples of the standard deviation; null where it never does."""
    radii = []
    for count in [2, 3, 4, 5, 8, 12, 26, 60, 200]:
        for alpha in [0.10, 0.05, 0.01]:
            # However large t, the factor stays below (1 + n)^((n - 1) / 2).
            reached = (count - 1) / 2 * np.log1p(count) > np.log(1 / alpha)
            radius = None
            if reached:
                t = optimize.brentq(
                    lambda t: log_bayes_factor(t, count, 1.0) - np.log(1 / alpha),
                    0.5, 60.0, xtol=1e-10, rtol=1e-12,
                )
                radius = t / np.sqrt(count)
            radii.append({"units": count, "confidence": 1 - alpha, "radius": radius})
    return radii


SATURATING, ROOT, LINE = "saturating", "concave", "line"


def height(shape, x, *coefficients):
    if shape == SATURATING:
        fixed, most, half_at = coefficients
        return fixed + most * x / (x + half_at)
    terms = [np.ones_like(x), x] + ([np.sqrt(x)] if shape == ROOT else [])
    return np.column_stack(terms) @ np.array(coefficients)


def curves():
    """Points with known errors: least squares weighted by them, the variance of every height, and
    an F test of what is left. The errors have 12 degrees of freedom."""
    random = np.random.default_rng(12)
    x = np.array([0.0, 2.5, 10.0, 25.0, 50.0, 75.0, 100.0])
    errors = np.array([0.4, 0.3, 0.5, 0.4, 0.6, 0.5, 0.7])
    degrees, between = 12.0, np.array([0.0, 5.0, 40.0, 100.0])
    found = []
    for shape, truth in [
        (LINE, (2.0, 0.3)), (ROOT, (1.0, 0.05, 3.0)), (SATURATING, (1.0, 30.0, 8.0)),
    ]:
        y = np.round(height(shape, x, *truth) + errors * random.normal(size=len(x)), 6)
        if shape == SATURATING:
            coefficients, covariance = optimize.curve_fit(
                lambda *given: height(shape, *given), x, y, p0=truth, sigma=errors,
                absolute_sigma=True, ftol=1e-15, xtol=1e-15, gtol=1e-15,
                jac=lambda x, a, b, h: np.column_stack(
                    [np.ones_like(x), x / (x + h), -b * x / (x + h) ** 2]
                ),
            )
            _, b, h = coefficients
            rows = np.column_stack(
                [np.ones(4), between / (between + h), -b * between / (between + h) ** 2]
            )
        else:
            terms = lambda x: np.column_stack(
                [np.ones_like(x), x] + ([np.sqrt(x)] if shape == ROOT else [])
            )
            fit = sm.WLS(y, terms(x), weights=1 / errors**2).fit(
                cov_type="fixed scale", cov_kwds={"scale": 1.0}
            )
            coefficients, covariance, rows = fit.params, fit.cov_params(), terms(between)
        left = np.sum(((y - height(shape, x, *coefficients)) / errors) ** 2)
        freedom = len(x) - len(coefficients)
        f = left / freedom
        found.append({
            "shape": shape, "x": x, "y": y, "errors": errors, "error_freedom": degrees,
            "coefficients": coefficients, "coefficient_errors": np.sqrt(np.diag(covariance)),
            "between": between, "heights": height(shape, between, *coefficients),
            "height_errors": np.sqrt(np.einsum("ij,jk,ik->i", rows, covariance, rows)),
            "f": f, "points_freedom": freedom, "p": stats.f.sf(f, freedom, degrees),
            "quantile": stats.t.ppf(0.975, freedom if f > 1 else degrees),
        })
    return found


def side_by_side():
    """Arms in launches against one baseline: an analysis of variance by arm and launch."""
    random = np.random.default_rng(13)
    found = []
    for arms, launches, baseline in [(7, 3, 0.02), (4, 8, 0.01), (5, 5, 0.0)]:
        values = np.round(
            0.1 * np.arange(arms)[:, None] + baseline * random.normal(size=(1, launches))
            + 0.01 * random.normal(size=(arms, launches)), 6,
        )
        frame = pandas.DataFrame({
            "value": values.ravel(), "arm": np.repeat(np.arange(arms).astype(str), launches),
            "launch": np.tile(np.arange(launches).astype(str), arms),
        })
        table = anova_lm(ols("value ~ C(arm) + C(launch)", frame).fit())
        of_launches, rest = (table["mean_sq"][row] for row in ["C(launch)", "Residual"])
        found.append({
            "values": values,
            "own_variance": rest / launches,
            "own_freedom": table["df"]["Residual"],
            "common_variance": max(of_launches - rest, 0) / arms / launches,
        })
    return found


def totals():
    """Pairs by launch: the mean difference, and the ratio of sums with the error of its residuals."""
    random = np.random.default_rng(19)
    found = []
    for launches, effect in [(2, 0.1), (3, 0.0), (13, 0.08), (20, 18.0)]:
        machine = 200 * (1 + 0.05 * random.normal(size=launches))
        x = np.round(machine * (1 + 0.01 * random.normal(size=launches)), 6)
        slow = 1 + 0.05 * (random.random(launches) < 0.2)
        y = np.round(machine * slow * (1 + effect + 0.01 * random.normal(size=launches)), 6)
        ratio = y.sum() / x.sum()
        found.append({
            "baseline": x, "arm": y, "difference": np.mean(y - x),
            "difference_error": stats.sem(y - x),
            "student_interval_95": stats.ttest_rel(y, x).confidence_interval(0.95),
            "skewness": stats.skew(y - x, bias=False) if launches > 2 else 0.0,
            "relative": ratio - 1, "relative_error": stats.sem(y - ratio * x) / x.mean(),
        })
    return found


def between_runs():
    """Paule and Mandel's variance, and the mean with Hartung and Knapp's error."""
    random = np.random.default_rng(23)
    found = []
    for runs, between in [(2, 1.0), (5, 2.0), (8, 0.5), (20, 0.0)]:
        errors = np.round(random.uniform(0.5, 1.5, runs), 6)
        estimates = np.round(0.3 + np.hypot(errors, between) * random.normal(size=runs), 6)
        pooled = combine_effects(estimates, errors**2, method_re="pm", atol=1e-13, maxiter=500)
        t = pooled.mean_effect_re / pooled.sd_eff_w_re_hksj
        found.append({
            "estimates": estimates, "errors": errors, "variance": max(pooled.tau2, 0.0),
            "mean": pooled.mean_effect_re, "mean_error": pooled.sd_eff_w_re_hksj,
            "p": 2 * stats.t.sf(abs(t), runs - 1),
        })
    return found


def plain(value):
    """For JSON: what is not finite is null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (str, int)):
        return value
    return float(value) if np.isfinite(value) else None


def main():
    of = series()
    pairs = [
        ("two", "two_others"), ("normal", "heavy_tails"), ("one_wild_of_ten", "ties"),
        ("outliers", "trend"),
    ]
    values = {
        "versions": {
            "python": platform.python_version(), "numpy": np.__version__,
            "scipy": scipy.__version__, "statsmodels": statsmodels.__version__,
        },
        "series": {name: {"values": x, **of_one_series(x)} for name, x in of.items()},
        "pairs": [{"one": a, "other": b, **of_two_series(of[a], of[b])} for a, b in pairs],
        "two_kinds": {"of": "two_modes", **two_kinds(of["two_modes"])},
        "launches": {name: of_launches(values) for name, values in launches().items()},
        "student_quantiles": student_quantiles(),
        "simultaneous": simultaneous(),
        "differences": differences(),
        "sequence_radii": sequence_radii(),
        "curves": curves(),
        "side_by_side": side_by_side(),
        "totals": totals(),
        "between_runs": between_runs(),
    }
    path = pathlib.Path(__file__).with_name("values.json")
    text = json.dumps(plain(values), indent=1)
    # A list of numbers on one line.
    text = re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found.group().split()), text)
    path.write_text(text + "\n")


if __name__ == "__main__":
    main()
